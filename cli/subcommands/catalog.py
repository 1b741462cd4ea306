"""`streamsql catalog export | import`: the catalog as a .sql file. Export reads the statement log,
without Spark and next to a running engine. Import validates the whole file first, so an invalid
file changes nothing."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from streamsql.cli.execution.engine import READY_SECONDS, engine_config, make_engine
from streamsql.cli.execution.execution import run
from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.cli.terminal.progress import waiting
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import ConfigError, ExternalError, StreamSQLError


def command(args: argparse.Namespace) -> int:
    """Exit code 0, or 1 for a file that does not fit."""
    return export(args) if args.action == "export" else import_(args)


def export(args: argparse.Namespace) -> int:
    """Write the script to a file, which is there whole or not at all, or to standard output."""
    from streamsql.api.backup import exported

    text = exported(engine_config(args)) + "\n"
    if args.file in (None, "-"):
        sys.stdout.write(text)
        return 0
    path = Path(args.file)
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.write_text(text, "utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise ExternalError(f"cannot write {path}: {error.strerror}") from error
    return 0


def import_(args: argparse.Namespace) -> int:
    """Run the file's statements after a look at all of them."""
    from streamsql.api.checking import check_fits

    if args.file is None:
        raise ConfigError("streamsql catalog import needs a file", hint="- is standard input.")
    name, sql = display_name(args.file), read_script(args.file)
    renderer = Renderer(args.output or "table")
    with make_engine(args) as engine:
        engine.wait_until_ready(READY_SECONDS)
        try:
            check_fits(sql, engine.catalog(), engine.session.properties)
            run(engine, sql, renderer, partial(waiting, engine.startup))
        except StreamSQLError as error:
            if args.debug:
                raise
            renderer.error(error, sql, name)
            return error.exit_code
    return 0
