"""Latency from producer to consumer, Kafka to Kafka, as a user of an engine has it.

Records flow before the query is created and for as long as is measured: from the moment when the
query is RUNNING to the end, the ends of batches included. By default all queries run one after the
other in one engine, so the first has a cold JVM. A micro-batch writes one row of a group for
several events, whose latency is that of the newest: the sink's timestamps, in milliseconds, are
those of the newest event behind a result. What a query joins its events with changes too, at a
tenth of the rate. Run it on an idle machine: `python -m benchmarks.latency`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.common import PARTITIONS, producer, show_table
from benchmarks.queries import LATENCY
from benchmarks.traffic import KEYS, Receiver, Sender, by_timestamp
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, QueryInfo, QueryState
from streamsql.executor.spark.gateway import GATEWAY_MAIN
from streamsql.kafka.broker import EmbeddedBroker, broker_status
from streamsql.kafka.client import KafkaClient
from streamsql.waiting import await_condition

_START_SECONDS = 240.0
_LAST_SECOND = 1.0
"""What is sent after the end, so that what was sent before it is known to have come."""


@dataclass(frozen=True)
class Row:
    """What one query showed. `load` is the machine's of the minute before; `running_s` and
    `first_row_s` count from CREATE; `cpu_s` is of the engine and its JVM while measured."""

    query: str
    rate: int
    minutes: float
    load: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    stalled_s: int
    cpu_s: float
    running_s: float
    first_row_s: float
    seconds: list[float | None] | None = None


@dataclass(frozen=True)
class Place:
    """An engine, ready, and the broker it runs on."""

    engine: Engine
    kafka: KafkaClient
    broker_pid: int | None
    folder: Path
    """The engine's data."""

    def run(self, sql: str) -> None:
        for _ in self.engine.execute(sql):
            pass

    def query(self) -> QueryInfo:
        """The query that is measured: there is one at a time."""
        (found,) = (q for q in self.engine.queries() if q.kind == "PERSISTENT")
        if found.state is QueryState.ERROR:
            raise SystemExit(f"the query has failed: {found.error}")
        return found

    def jvm(self) -> psutil.Process:
        """Spark's."""
        return next(p for p in psutil.Process().children() if GATEWAY_MAIN in p.cmdline())

    def cpu(self, others: set[int]) -> float:
        """CPU seconds of this process and its children, but for the broker and the others."""
        me = psutil.Process()
        members = (p for p in me.children(recursive=True) if p.pid not in others)
        return sum(
            _cpu_seconds(process) for process in (me, *members) if process.pid != self.broker_pid
        )


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system


@contextmanager
def place(options: argparse.Namespace) -> Iterator[Place]:
    """A broker (unless one is named) and an engine, both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        folder, broker = DataDir.at(Path(name)), None
        if options.bootstrap_servers is None:
            broker = EmbeddedBroker(folder)
            broker.start(_START_SECONDS)
        servers = broker.bootstrap if broker else options.bootstrap_servers
        settings = dict(setting.split("=", 1) for setting in options.set)
        own = Path(name) / "engine"
        config = EngineConfig(own, servers, properties=settings, warm_up=True)
        kafka = KafkaClient(servers)
        try:
            with Engine(config) as engine:
                engine.wait_until_ready(_START_SECONDS)
                time.sleep(options.idle)
                yield Place(engine, kafka, broker_status(folder).pid if broker else None, own)
        finally:
            kafka.close()
            if broker is not None:
                broker.stop()


def measure(
    place: Place, name: str, options: argparse.Namespace, isolation: str = "read_committed"
) -> Row:
    """One query: created over a topic that is being written, measured, dropped."""
    load = os.getloadavg()[0]
    servers = place.kafka.bootstrap
    run = uuid.uuid4().hex[:8]
    events, other, sink = (f"{purpose}-{run}" for purpose in ("events", "other", "sink"))
    for topic in (events, other, sink):
        place.kafka.create_topic(topic, PARTITIONS)
    with producer(servers) as put:
        for key in range(KEYS):
            put(other, str(key), {"NAME": f"the name of {key}"}, 0)
    *sources, query = LATENCY[name].over(events, other, sink).split("\n")
    place.run("\n".join(sources))
    receiver = Receiver(servers, [sink], PARTITIONS, isolation, by_timestamp)
    senders = [Sender(servers, [events], options.rate)]
    if LATENCY[name].reads_other:
        senders.append(Sender(servers, [other], max(1, options.rate // 10), named))
    others = {process.pid or 0 for process in (receiver.process, *(s.process for s in senders))}
    _until(lambda: any(place.kafka.end_offsets(events).values()), "nothing is sent")
    created = time.time()
    place.run(query)
    _until(lambda: place.query().state is QueryState.RUNNING, "the query is not RUNNING")
    running = time.time()
    receiver.begin(running)
    cpu = place.cpu(others)
    first_row = receiver.first_row(_START_SECONDS)
    if first_row is None:
        raise SystemExit("no records arrived: the machine is too busy, or the query has failed")
    time.sleep(max(0.0, running + 60 * options.minutes - time.time()))
    place.query()
    cpu = place.cpu(others) - cpu
    end = time.time()
    time.sleep(_LAST_SECOND)
    found = receiver.end(end)
    for sender in senders:
        sender.stop()
    drop_all(place)
    return Row(
        query=name,
        rate=options.rate,
        minutes=options.minutes,
        load=load,
        p50_ms=found.percentile(50),
        p95_ms=found.percentile(95),
        p99_ms=found.percentile(99),
        p999_ms=found.percentile(99.9),
        max_ms=found.max_ms,
        stalled_s=found.stalled_seconds,
        cpu_s=cpu,
        running_s=running - created,
        first_row_s=first_row - created,
        seconds=found.seconds if options.seconds else None,
    )


def named(number: int) -> tuple[str, str]:
    """A key of the topic that a query joins its events with, and a NAME that changes."""
    return str(number % KEYS), json.dumps({"NAME": f"the name of {number}"})


def _until(condition: Callable[[], bool], problem: str) -> None:
    if not await_condition(condition, _START_SECONDS, every=0.005):
        raise SystemExit(problem)


def drop_all(place: Place) -> None:
    """What reads before what is read."""
    place.run(f"TERMINATE {place.query().id};")
    for source in reversed(place.engine.catalog().sources.values()):
        place.run(f"DROP {source.kind.value} `{source.name}`;")


def show(row: Row, as_json: bool) -> None:
    cells = {name: value for name, value in asdict(row).items() if name != "seconds"}
    if as_json:
        more = {} if row.seconds is None else {"seconds": row.seconds}
        print(json.dumps(cells | more), flush=True)
        return
    show_table([cells])
    for second, worst in enumerate(row.seconds or ()):
        print(f"second {second}: {'-' if worst is None else f'{worst:.0f}'} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.5, help="measured of each query")
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--query", choices=[*LATENCY], action="append", help="default: all")
    parser.add_argument(
        "--idle", type=float, default=0, help="seconds that the engine waits for its first query"
    )
    parser.add_argument("--seconds", action="store_true", help="the worst latency of each second")
    parser.add_argument("--json", action="store_true", help="one JSON object a query")
    parser.add_argument("--bootstrap-servers", help="a Kafka cluster instead of an own broker")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property of the session, such as processing.mode=microbatch",
    )
    options = parser.parse_args()
    with place(options) as found:
        for name in options.query or LATENCY:
            show(measure(found, name, options), options.json)


if __name__ == "__main__":
    main()
