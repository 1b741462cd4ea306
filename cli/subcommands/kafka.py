"""`streamsql kafka start|stop|status|transactions`: the broker without an engine."""

from __future__ import annotations

import argparse

from streamsql.cli.execution.engine import kafka_of
from streamsql.cli.terminal.progress import Bar
from streamsql.errors import ConfigError


def command(args: argparse.Namespace) -> int:
    """Exit code 0, or for `status` 1 where no broker runs."""
    from streamsql.api.broker import broker_status, start_detached, stop_detached
    from streamsql.api.connectors import worker_status
    from streamsql.data_folder import DataDir

    if args.action == "transactions":
        return _transactions(args)
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
    if worker := worker_status(data):
        print(f"Kafka Connect runs at {worker.url} (process {worker.pid})")
    return 0


def _transactions(args: argparse.Namespace) -> int:
    """`transactions list | abort ID ..`, of the cluster that is named or the embedded broker."""
    from streamsql.api.broker import abort, broker_status, transactions
    from streamsql.data_folder import DataDir

    if (args.what == "abort") != bool(args.ids):
        raise ConfigError(
            "streamsql kafka transactions abort requires ids, list takes none",
            hint="streamsql kafka transactions list shows the ids.",
        )
    servers, settings = kafka_of(args)
    servers = servers or broker_status(DataDir.at(args.data)).bootstrap
    if servers is None:
        raise ConfigError(
            "the embedded broker does not run", hint="streamsql kafka start starts it."
        )
    found = {**settings, "bootstrap.servers": servers}
    if args.what == "abort":
        abort(found, args.ids)
        return 0
    for transaction in transactions(found):
        since = f" since {transaction.started:%Y-%m-%d %H:%M:%S} UTC" if transaction.started else ""
        places = f", {transaction.partitions} partitions" if transaction.started else ""
        print(f"{transaction.id}: {transaction.state}{since}{places}")
    return 0
