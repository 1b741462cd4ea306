"""What many small queries cost in one engine: waiting, with some events, and after a restart.

By default 100 queries over 10 topics, an even mix of projections, GROUP BYs and tumbling windows.
Printed are the seconds from the first CREATE until all are RUNNING; CPU and memory of the engine,
its JVM and the broker while no record comes; the latency of all outputs together, and CPU, while
events come to all topics; and the seconds from the start of an engine on the same data folder until
all are RUNNING again, right after the events have ended. Run it on an idle machine:
`python -m benchmarks.many_queries`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.common import PARTITIONS, show_table
from benchmarks.traffic import Receiver, Sender
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, QueryState
from streamsql.kafka.broker import EmbeddedBroker, broker_status
from streamsql.kafka.client import KafkaClient
from streamsql.waiting import await_condition

_START_SECONDS = 600.0
_LAST_SECOND = 1.0
"""What is sent after the end, so that what was sent before it is known to have come."""
_MIB = 1 << 20

_QUERIES = (
    "STREAM {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT K, T, ID * 2 AS N FROM {source} "
    "WHERE ID >= 0",
    "TABLE {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT K, MAX(T) AS T, COUNT(*) AS N "
    "FROM {source} GROUP BY K",
    "STREAM {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT K, T, ID + 1 AS N FROM {source} "
    "WHERE T > 0",
    "TABLE {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT K, MAX(T) AS T, COUNT(*) AS N "
    "FROM {source} WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY K",
)
"""Each writes a row for each event."""


@dataclass(frozen=True)
class Usage:
    """CPU seconds and resident MiB of the engine's process, its JVM, and the broker."""

    engine_cpu: float
    jvm_cpu: float
    broker_cpu: float
    engine_mb: float
    jvm_mb: float
    broker_mb: float

    @property
    def cpu(self) -> float:
        return self.engine_cpu + self.jvm_cpu + self.broker_cpu

    @property
    def mb(self) -> float:
        return self.engine_mb + self.jvm_mb + self.broker_mb


class Place:
    """An engine that can be started again, and its broker."""

    def __init__(self, folder: Path, broker: EmbeddedBroker, properties: dict[str, str]) -> None:
        self._config = EngineConfig(folder / "engine", broker.bootstrap, properties=properties)
        self._broker = psutil.Process(broker_status(DataDir.at(folder)).pid)
        self.servers = broker.bootstrap
        self.engine = Engine(self._config)

    def start(self) -> None:
        self.engine = Engine(self._config)
        self.engine.start()
        self.engine.wait_until_ready(_START_SECONDS)

    def run(self, sql: str) -> None:
        for _ in self.engine.execute(sql):
            pass

    def await_running(self) -> None:
        """Until all queries are RUNNING."""
        if not await_condition(self._all_running, _START_SECONDS, every=0.05):
            states = Counter(q.state.value for q in self.engine.queries())
            raise SystemExit(f"not all queries are RUNNING: {dict(states)}")

    def _all_running(self) -> bool:
        return all(q.state is QueryState.RUNNING for q in self.engine.queries())

    def usage(self) -> Usage:
        """Of the engine's tree of processes, but for those that measure."""
        me = psutil.Process()
        own = [me, *(c for c in me.children(recursive=True) if _is_spark(c, self._broker.pid))]
        return Usage(
            _cpu(me),
            sum(map(_cpu, own[1:])),
            _cpu(self._broker),
            me.memory_info().rss / _MIB,
            sum(process.memory_info().rss for process in own[1:]) / _MIB,
            self._broker.memory_info().rss / _MIB,
        )


def _is_spark(process: psutil.Process, broker: int) -> bool:
    try:
        return process.pid != broker and "multiprocessing" not in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def place(options: argparse.Namespace) -> Iterator[Place]:
    """A broker and an engine, both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        broker = EmbeddedBroker(DataDir.at(Path(name)))
        broker.start(_START_SECONDS)
        settings = dict(setting.split("=", 1) for setting in options.set)
        found = Place(Path(name), broker, settings)
        try:
            found.start()
            yield found
        finally:
            found.engine.close()
            broker.stop()


def create(place: Place, options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The topics that are read and those that are written."""
    sources = [f"S{number}" for number in range(options.topics)]
    sinks = [f"O{number}" for number in range(options.queries)]
    kafka = KafkaClient(place.servers)
    try:
        for topic in (*sources, *sinks):
            kafka.create_topic(topic, PARTITIONS)
    finally:
        kafka.close()
    for source in sources:
        place.run(
            f"CREATE STREAM {source} (K STRING KEY, ID INT, T DOUBLE) "
            f"WITH (KAFKA_TOPIC='{source}', VALUE_FORMAT='JSON');"
        )
    for number, sink in enumerate(sinks):
        # Each topic has queries of all kinds.
        kind = _QUERIES[(number + number // len(sources)) % len(_QUERIES)]
        place.run(f"CREATE {kind.format(source=sources[number % len(sources)], sink=sink)};")
    return sources, sinks


def started(place: Place, options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """CREATE to RUNNING."""
    load, begin, before = os.getloadavg()[0], time.time(), place.usage()
    topics = create(place, options)
    created = time.time() - begin
    place.await_running()
    seconds = {"created_s": created, "running_s": time.time() - begin, **cpu(place, before)}
    show({"phase": "start", "load": load, **seconds, **modes(place), **memory(place)}, options)
    return topics


def idle(place: Place, options: argparse.Namespace) -> None:
    """Nothing comes."""
    time.sleep(options.settle)
    load, before = os.getloadavg()[0], place.usage()
    time.sleep(options.idle)
    show({"phase": "idle", "load": load, **cores(place, before, options.idle)}, options)


def loaded(place: Place, sources: list[str], sinks: list[str], options: argparse.Namespace) -> None:
    """Events come to all topics, `rate` of them a second in all; measured once each query has
    written, and `lead` seconds have passed."""
    receiver = Receiver(place.servers, sinks, PARTITIONS)
    time.sleep(3)  # Its consumer comes up.
    woken, waking = time.time(), place.usage()
    sender = Sender(place.servers, sources, options.rate)
    awake = receiver.first_row(_START_SECONDS)
    if awake is None:
        raise SystemExit("not all queries have written")
    time.sleep(options.lead)
    lead: dict[str, object] = {"awake_s": awake - woken, "lead_s": time.time() - woken}
    begin, before = time.time(), place.usage()
    lead["lead_cpu_s"] = before.cpu - waking.cpu
    receiver.begin(begin)
    time.sleep(options.seconds)
    used = {"load": os.getloadavg()[0], **cores(place, before, time.time() - begin)}
    end = time.time()
    time.sleep(_LAST_SECOND)
    found = receiver.end(end)
    sender.stop()
    row: dict[str, object] = {
        "phase": "loaded",
        "outputs": found.count,
        "p50_ms": found.percentile(50),
        "p95_ms": found.percentile(95),
        "p99_ms": found.percentile(99),
        "p999_ms": found.percentile(99.9),
        "max_ms": found.max_ms,
        "stalled_s": found.stalled_seconds,
    }
    show(row | lead | used | modes(place), options)


def restarted(place: Place, options: argparse.Namespace) -> None:
    """Stop and start: with a warm file cache, which a crash would leave too."""
    begin = time.time()
    place.engine.close()
    stopped, load = time.time(), os.getloadavg()[0]
    place.start()
    ready = time.time()
    place.await_running()
    seconds = {
        "stop_s": stopped - begin,
        "ready_s": ready - stopped,
        "running_s": time.time() - stopped,
    }
    show({"phase": "restart", "load": load, **seconds, **modes(place), **memory(place)}, options)


def modes(place: Place) -> dict[str, object]:
    return {"modes": dict(Counter(q.mode for q in place.engine.queries()))}


def memory(place: Place) -> dict[str, object]:
    used = asdict(place.usage())
    return {"mb": place.usage().mb} | {k: v for k, v in used.items() if k.endswith("_mb")}


def cores(place: Place, before: Usage, seconds: float) -> dict[str, object]:
    """CPU in cores since then, and memory now."""
    now = place.usage()
    used = {
        "cores": now.cpu - before.cpu,
        "engine_cores": now.engine_cpu - before.engine_cpu,
        "jvm_cores": now.jvm_cpu - before.jvm_cpu,
        "broker_cores": now.broker_cpu - before.broker_cpu,
    }
    return {name: value / seconds for name, value in used.items()} | memory(place)


def cpu(place: Place, before: Usage) -> dict[str, float]:
    """CPU seconds since then."""
    now = place.usage()
    return {
        "cpu_s": now.cpu - before.cpu,
        "engine_cpu_s": now.engine_cpu - before.engine_cpu,
        "jvm_cpu_s": now.jvm_cpu - before.jvm_cpu,
    }


def show(row: dict[str, object], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(row), flush=True)
    else:
        show_table([row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--rate", type=int, default=1000, help="events a second in all")
    parser.add_argument("--settle", type=float, default=70, help="seconds from RUNNING to idle")
    parser.add_argument("--idle", type=float, default=60, help="seconds measured without events")
    parser.add_argument(
        "--lead",
        type=float,
        default=20,
        help="seconds from when all have written until it is measured",
    )
    parser.add_argument("--seconds", type=float, default=70, help="seconds measured with events")
    parser.add_argument("--json", action="store_true", help="one JSON object a phase")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    with place(options) as found:
        sources, sinks = started(found, options)
        if options.idle:
            idle(found, options)
        if options.seconds:
            loaded(found, sources, sinks, options)
        restarted(found, options)


if __name__ == "__main__":
    main()
