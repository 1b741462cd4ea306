"""`streamsql plan`: what files would change of what runs, before anything happens. No JVM."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import engine_config
from streamsql.cli.options.parser import assignments
from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.cli.subcommands.connect import make_connection
from streamsql.cli.terminal.changes import plan_lines
from streamsql.cli.terminal.render import error_lines
from streamsql.cli.terminal.style import Style
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.run_script import NamedText

if TYPE_CHECKING:
    from streamsql.api.changing import ChangePlan
    from streamsql.client.remote import RemoteEngine


def command(args: argparse.Namespace) -> int:
    """The exit code: 0 nothing to do, 2 changes, 1 errors."""
    found = planned(args, read_texts(args.paths))
    if args.json:
        print(json.dumps(found.to_json()))
        return found.exit_code
    style = Style.of(sys.stdout)
    show_errors(found, style)
    print("\n".join(plan_lines(found, style)))
    return found.exit_code


def show_errors(found: ChangePlan, style: Style) -> None:
    """Shows the errors of invalid statements."""
    for error in found.errors:
        print("\n".join(error_lines(error, error.sql, error.file, style)))


def planned(args: argparse.Namespace, texts: list[NamedText]) -> ChangePlan:
    """Against a server's catalog, or a data folder's log."""
    variables = assignments(args.define, "--define")
    if getattr(args, "server", None) is None:
        from streamsql.api.changing_log import plan_of_log

        return plan_of_log(engine_config(args), texts, variables, args.prune)
    from streamsql.api.changing import plan_of_server

    with server_of(args) as server:
        server.refresh()
        properties = server.session.properties
        found = plan_of_server(
            server.catalog(), server.queries(), texts, properties, variables, args.prune
        )
        if not any(item.read_again for item in found.items):
            return found
        # Only the server knows the amount of records and lost ones. It reports errors without
        # positions; earlier servers and errors of other users have none.
        with suppress(StreamSQLError):
            return found.with_readings_of(server.changes.plan(texts, variables, prune=args.prune))
        return found


def server_of(args: argparse.Namespace) -> RemoteEngine:
    """The connection to the server of --server, not yet begun."""
    args.url = args.server
    return make_connection(args)


def read_texts(paths: list[str]) -> list[NamedText]:
    """The files, and those of folders, by their names; ConfigError for a folder without any."""
    texts = []
    for name in paths:
        path = Path(name).expanduser()
        if name == "-" or not path.is_dir():
            texts.append(NamedText(display_name(name), read_script(name)))
            continue
        files = sorted(path.rglob("*.sql"))
        if not files:
            raise ConfigError(f"no .sql files in {name}")
        texts += [NamedText(str(file), read_script(str(file))) for file in files]
    return texts
