"""`streamsql apply`: has what runs become what files say, all of it at once, after asking."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from streamsql.api.changing import ChangePlan, undo_plan_of_log
from streamsql.cli.execution.engine import READY_SECONDS, engine_config, make_engine
from streamsql.cli.options.parser import assignments
from streamsql.cli.subcommands.plan import planned, read_texts, server_of, show_errors
from streamsql.cli.terminal.changes import plan_lines
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.client.remote import RemoteEngine
from streamsql.engine import Engine
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.run_script import NamedText


def command(args: argparse.Namespace) -> int:
    """The exit code: 0 done, or nothing to do; 1 for what cannot be done, or is not wanted."""
    if bool(args.paths) == args.undo:
        raise ConfigError("give the files that are to be applied, or --undo alone")
    texts = read_texts(args.paths)
    found = _undoing(args) if args.undo else planned(args, texts)
    style = Style.of(sys.stdout)
    show_errors(found, style)
    print("\n".join(plan_lines(found, style)))
    if found.exit_code != 2:
        return found.exit_code
    found.check_applicable()
    if not (args.yes or _wanted()):
        print("Nothing has been changed.")
        return 1
    return _apply(args, texts, Renderer(args.output or "table"))


def _undoing(args: argparse.Namespace) -> ChangePlan:
    """What would be taken back."""
    if args.server is None:
        return undo_plan_of_log(engine_config(args))
    with server_of(args) as server:
        return server.changes.plan_undo()


def _apply(args: argparse.Namespace, texts: list[NamedText], renderer: Renderer) -> int:
    variables = assignments(args.define, "--define")
    with _engine(args) as engine:
        try:
            changes, left = engine.changes, args.from_what_is_left
            done = (
                changes.undo(from_what_is_left=left)
                if args.undo
                else changes.apply(texts, variables, prune=args.prune, from_what_is_left=left)
            )
            for result in done:
                renderer.show(result)
        except StreamSQLError as error:
            renderer.error(error)
            return error.exit_code
    return 0


@contextmanager
def _engine(args: argparse.Namespace) -> Iterator[Engine | RemoteEngine]:
    """The data folder's, ready, or a server."""
    if args.server is not None:
        with server_of(args) as server:
            yield server
        return
    with make_engine(args) as engine:
        engine.wait_until_ready(READY_SECONDS)
        yield engine


def _wanted() -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("nobody can be asked whether to apply this", hint="Add --yes.")
    return input("Apply this? [y/N] ").strip().lower() in ("y", "yes")
