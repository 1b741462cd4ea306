"""`streamsql apply`: has what runs become what files say, all of it at once, after asking."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import READY_SECONDS, engine_config, make_engine
from streamsql.cli.options.parser import assignments
from streamsql.cli.subcommands.plan import planned, read_texts, server_of, show_errors
from streamsql.cli.terminal.changes import plan_lines
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.results import Result
from streamsql.run_script import NamedText

if TYPE_CHECKING:
    from streamsql.api.applying import Changes
    from streamsql.api.changing import ChangePlan
    from streamsql.client.remote import RemoteEngine
    from streamsql.client.remote_changes import RemoteChanges
    from streamsql.engine import Engine

_ALONE = ("undo", "promote", "discard")


def command(args: argparse.Namespace) -> int:
    """The exit code: 0 done, or nothing to do; 1 for what cannot be done, or is not wanted."""
    alone = [name for name in _ALONE if getattr(args, name)]
    if bool(args.paths) == bool(alone):
        raise ConfigError(
            "give the files that are to be applied, or --undo, --promote or --discard alone"
        )
    if args.server is None and (args.stage or args.promote or args.discard):
        raise ConfigError(
            "only a server has something staged: an engine of a data folder ends with its command",
            hint="Add --server URL.",
        )
    if args.promote or args.discard:
        return _carry_out(args, [])
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
    return _carry_out(args, texts)


def _undoing(args: argparse.Namespace) -> ChangePlan:
    if args.server is None:
        from streamsql.api.changing_log import undo_plan_of_log

        return undo_plan_of_log(engine_config(args))
    with server_of(args) as server:
        return server.changes.plan_undo()


def _carry_out(args: argparse.Namespace, texts: list[NamedText]) -> int:
    renderer = Renderer(args.output or "table")
    with _engine(args) as engine:
        try:
            for result in _done(args, texts, engine.changes):
                renderer.show(result)
        except StreamSQLError as error:
            renderer.error(error)
            return error.exit_code
    return 0


def _done(
    args: argparse.Namespace, texts: list[NamedText], changes: Changes | RemoteChanges
) -> list[Result]:
    left = args.from_what_is_left
    if args.promote:
        return changes.promote()
    if args.discard:
        return changes.discard()
    if args.undo:
        return changes.undo(from_what_is_left=left)
    variables = assignments(args.define, "--define")
    carry_out = changes.stage if args.stage else changes.apply
    return carry_out(texts, variables, prune=args.prune, from_what_is_left=left)


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
        raise ConfigError(
            "apply requires confirmation: use --yes without a terminal", hint="Add --yes."
        )
    return input("Apply this? [y/N] ").strip().lower() in ("y", "yes")
