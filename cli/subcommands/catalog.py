"""`streamsql catalog export | import`: all that there is as a .sql file, and made again from it.

Export reads the statement log, without Spark and beside an engine that runs. Import looks at the
whole file first, so that one that does not fit changes nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import engine_config, kafka_of, make_engine
from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.errors import ConfigError, ExternalError, StreamSQLError

if TYPE_CHECKING:
    from streamsql.catalog import Catalog
    from streamsql.log.entries import Entry

READY_SECONDS = 120.0


def command(args: argparse.Namespace) -> int:
    """Exit code 0, or 1 for a file that does not fit."""
    return export(args) if args.action == "export" else import_(args)


def export(args: argparse.Namespace) -> int:
    """Write the script to a file, which is there whole or not at all, or to standard output."""
    from streamsql.runtime.export import catalog_script

    text = catalog_script(_entries(args)) + "\n"
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


def _entries(args: argparse.Namespace) -> list[Entry]:
    """Those of the service, else those of the data folder."""
    from streamsql.log.entries import read_file
    from streamsql.log.membership import data_of, joined

    config = joined(engine_config(args))
    data = data_of(config)
    if config.service_id is None:
        return read_file(data.statements)
    from streamsql.kafka.broker import broker_status
    from streamsql.kafka.client import KafkaClient
    from streamsql.log.topic_log import entries_of

    servers, security = kafka_of(args)
    servers = servers or broker_status(data).bootstrap
    if servers is None:
        raise ConfigError(
            f"the statements of the service {config.service_id} are in Kafka, which does not run",
            hint="Start it with `streamsql kafka start`.",
        )
    return entries_of(KafkaClient(servers, security=security), config.service_id)


def import_(args: argparse.Namespace) -> int:
    """Run the file's statements after a look at all of them."""
    from streamsql.cli.execution.run import run
    from streamsql.cli.terminal.progress import waiting
    from streamsql.cli.terminal.render import Renderer

    if args.file is None:
        raise ConfigError("streamsql catalog import needs a file", hint="- is standard input.")
    name, sql = display_name(args.file), read_script(args.file)
    renderer = Renderer(args.output or "table")
    with make_engine(args) as engine:
        engine.wait_until_ready(READY_SECONDS)
        try:
            check_fits(sql, engine.catalog(), dict(engine.session.properties))
            run(engine, sql, renderer, partial(waiting, engine.startup))
        except StreamSQLError as error:
            if args.debug:
                raise
            renderer.error(error, sql, name)
            return error.exit_code
    return 0


def check_fits(sql: str, catalog: Catalog, properties: dict[str, str]) -> None:
    """Raise the error of the first statement that does not fit what is there already."""
    from streamsql.errors import ParseError
    from streamsql.parser import parse_each
    from streamsql.planner.ddl.session import PropertyPlan
    from streamsql.planner.statements import apply, plan

    catalog = catalog.copy()
    for statement in parse_each(sql, {}):
        if isinstance(statement, ParseError):
            raise statement
        planned = plan(statement, catalog, properties)
        apply(planned, catalog)
        if isinstance(planned, PropertyPlan) and planned.value is not None:
            properties[planned.name] = planned.value
        elif isinstance(planned, PropertyPlan):
            properties.pop(planned.name, None)
