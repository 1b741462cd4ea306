"""The transactions of a cluster: which are open, and how to end them.

librdkafka has no such requests, so a JVM with Kafka's own client asks (TransactionsMain).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from streamsql.errors import ExternalError
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.java import find_java

_MAIN_CLASS = "io.streamsql.kafka.TransactionsMain"
_SECONDS = 60.0


@dataclass(frozen=True)
class Transaction:
    """The cluster's state of one transactional id; `started` None: no open transaction."""

    id: str
    state: str
    """As Kafka names it: Ongoing, CompleteCommit, CompleteAbort, Empty .."""
    started: datetime | None
    partitions: int
    """How many it has written to so far."""


def transactions(settings: Mapping[str, str]) -> list[Transaction]:
    """All transactions by transactional id; `settings` have the names of Kafka's Java client, with
    bootstrap.servers. ExternalError if the cluster does not respond."""
    lines = _run(settings, ["list"]).splitlines()
    return [_transaction(json.loads(line)) for line in lines if line.startswith("{")]


def _transaction(found: Mapping[str, object]) -> Transaction:
    started = int(str(found["started_ms"]))
    moment = datetime.fromtimestamp(started / 1000, UTC) if started >= 0 else None
    return Transaction(str(found["id"]), str(found["state"]), moment, int(str(found["partitions"])))


def abort(settings: Mapping[str, str], ids: Iterable[str]) -> None:
    """Aborts open transactions of these ids. A producer that still uses one is fenced: a running
    query fails and restarts. ExternalError as in `transactions`."""
    _run(settings, ["abort", *ids])


def _run(settings: Mapping[str, str], arguments: list[str]) -> str:
    jars = [ensure_runtime_jar(), *ensure_jars("kafka")]
    program = [str(find_java().program), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    class_path = ["-cp", os.pathsep.join(map(str, jars)), _MAIN_CLASS]
    try:
        done = subprocess.run(
            [*program, *class_path, *arguments],
            input=json.dumps(dict(settings)),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ExternalError("Kafka does not answer", retryable=True) from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason is given"]
        raise ExternalError(f"Kafka rejects the request: {lines[-1]}")
    return done.stdout
