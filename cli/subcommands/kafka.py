"""`streamsql kafka start|stop|status`: the data folder's broker without an engine."""

from __future__ import annotations

import argparse

from streamsql.cli.terminal.progress import Bar
from streamsql.errors import ConfigError


def command(args: argparse.Namespace) -> int:
    """Exit code 0, or for `status` 1 where no broker runs."""
    from streamsql.api.broker import broker_status, start_detached, stop_detached
    from streamsql.data_folder import DataDir

    if args.bootstrap_servers:
        raise ConfigError(
            "streamsql kafka is about the embedded broker",
            hint="Leave --bootstrap-servers out.",
        )
    data = DataDir.at(args.data)
    if args.action == "stop":
        stopped = stop_detached(data)
        print("Kafka stopped" if stopped else "Kafka was not running")
        return 0
    if args.action == "start":
        with Bar("Starting Kafka", "files") as bar:
            status = start_detached(data, lambda done, total, name: bar.update(done, done / total))
    else:
        status = broker_status(data)
    if not status.running:
        print(f"Kafka is not running (data folder {data.root})")
        return 1
    owner = f", part of the engine in process {status.owner}" if status.owner else ""
    print(f"Kafka runs at {status.bootstrap} (process {status.pid}{owner})")
    return 0
