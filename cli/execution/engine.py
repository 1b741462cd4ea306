"""From the command line's options to an engine."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.options.parser import assignments, properties_of
from streamsql.errors import ConfigError
from streamsql.properties_file import read_properties

if TYPE_CHECKING:
    from streamsql.engine import Engine, EngineConfig

READY_SECONDS = 120.0
"""How long a command that runs something waits for Kafka and Spark."""


def make_engine(
    args: argparse.Namespace, *, until_caught_up: bool = False, warm_up: bool = False
) -> Engine:
    """An engine as the options describe it, not yet started; ConfigError for a wrong option."""
    from streamsql.engine import Engine

    engine = Engine(replace(engine_config(args, until_caught_up=until_caught_up), warm_up=warm_up))
    defined = assignments(args.define, "--define")
    engine.session.variables.update({name.upper(): value for name, value in defined.items()})
    if args.debug:
        print(engine.sizes, file=sys.stderr)
    return engine


def engine_config(args: argparse.Namespace, *, until_caught_up: bool = False) -> EngineConfig:
    """Settings of the engine; ConfigError for an invalid option."""
    from streamsql.engine import EngineConfig

    servers, kafka = kafka_of(args)
    return EngineConfig(
        data_dir=Path(args.data).expanduser() if args.data else None,
        bootstrap_servers=servers,
        kafka=kafka,
        master=args.master,
        spark=spark_of(args),
        properties=properties_of(args),
        debug=args.debug,
        # Table stores are built in advance for interactive use, and not for commands that only run
        # queries.
        serve_tables=not until_caught_up,
        until_caught_up=until_caught_up,
        service_id=getattr(args, "service_id", None),
    )


def spark_of(args: argparse.Namespace) -> dict[str, str]:
    """The settings of the file of --spark-config; ConfigError where it cannot be read."""
    return read_properties(Path(args.spark_config)) if args.spark_config else {}


def kafka_of(args: argparse.Namespace) -> tuple[str | None, dict[str, str]]:
    """The cluster that is meant, None for the embedded broker, and how to log in there.

    The option --bootstrap-servers goes before the file of --kafka-config. ConfigError for a file
    that cannot be read, or a setting that does not belong there.
    """
    if not args.kafka_config:
        return args.bootstrap_servers, {}
    from streamsql.engine import checked_kafka_settings

    properties = read_properties(Path(args.kafka_config))
    in_file = properties.pop("bootstrap.servers", None)
    servers = args.bootstrap_servers or in_file
    if servers is None:
        raise ConfigError(
            "--kafka-config says how to log in, but not where",
            hint="Add --bootstrap-servers HOST:PORT, or bootstrap.servers to the file.",
        )
    return servers, checked_kafka_settings(properties)
