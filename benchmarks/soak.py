"""A day's work in a fraction of the time: six queries of six shapes over hours of records, whose
timestamps pass faster than the clock.

Each quarter of an hour of the records' time prints latency (by the clock, of all that was sent
since the last one), memory, threads, open files, the size of the checkpoints and CPU: none of it
may grow. Keys move on, as those of orders do, but for those of customers. Run it on an idle
machine: `python -m benchmarks.soak`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Event

import psutil
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from benchmarks.common import PARTITIONS, producer, show_table
from benchmarks.folder_sizes import size_of
from benchmarks.histogram import Latencies
from benchmarks.latency import Place, place
from benchmarks.producing import producing
from benchmarks.traffic import KEYS, Receiver
from streamsql.engine import QueryState
from streamsql.waiting import await_condition

_START_SECONDS = 300.0
_MIB = 1 << 20
_context = get_context("spawn")

TOPICS = ("VISITS", "LOGINS", "CLICKS", "VIEWS", "ORDERS", "PAYMENTS")
"""Records go to them in turn."""
CUSTOMERS = 1000
MOVE_ON = 60_000
"""The number of records with the same keys."""
STREAM = (
    "CREATE STREAM {0} (K STRING KEY, CUSTOMER STRING, ID INT, T DOUBLE)"
    " WITH (KAFKA_TOPIC='{0}', VALUE_FORMAT='JSON');"
)
TABLE = (
    "CREATE TABLE D (CUSTOMER STRING PRIMARY KEY, NAME STRING)"
    " WITH (KAFKA_TOPIC='D', VALUE_FORMAT='JSON');"
)
QUERIES = {
    "FILTERED": "STREAM {} AS SELECT K, ID, T FROM VISITS WHERE ID % 10 = 0",
    "GROUPED": "TABLE {} AS SELECT CUSTOMER, COUNT(*) AS N, SUM(ID) AS S, MAX(T) AS T"
    " FROM LOGINS GROUP BY CUSTOMER",
    "WINDOWED": "TABLE {} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM CLICKS"
    " WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY K",
    "SESSIONS": "TABLE {} AS SELECT K, COUNT(*) AS N, MAX(T) AS T FROM VIEWS"
    " WINDOW SESSION (1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY K",
    "ENRICHED": "STREAM {} AS SELECT O.CUSTOMER AS CUSTOMER, ID, T, NAME FROM ORDERS O"
    " JOIN D ON O.CUSTOMER = D.CUSTOMER",
    "PAID": "STREAM {} AS SELECT O.K AS K, P.T AS T FROM ORDERS O"
    " JOIN PAYMENTS P WITHIN 1 SECOND GRACE PERIOD 1 MINUTE ON O.K = P.K",
}


@dataclass(frozen=True)
class Sample:
    """A quarter of an hour. `hours` is of the records' time; latencies are NaN where a record took
    more than a minute; processes are the engine's and its JVM's, the broker has its own column."""

    hours: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    stalled_s: int
    rows: int
    engine_mb: float
    jvm_mb: float
    broker_mb: float
    threads: int
    open_files: int
    checkpoint_mb: float
    checkpoint_files: int
    cores: float
    broker_cores: float
    real_time: int
    lag: int


def send(bootstrap: str, rate: int, speed: float, since_ms: int, done: Event) -> None:
    """`rate` records a second of the records' time, from then on."""
    step = 1000 / rate

    def record(number: int) -> tuple[str, str]:
        place = number // len(TOPICS)
        key = place % KEYS + number // MOVE_ON * KEYS
        customer = place * 7919 % CUSTOMERS
        return str(key), f'{{"CUSTOMER":"{customer}","ID":{place % KEYS},"T":{time.time():.6f}}}'

    def time_ms(number: int) -> int:
        return since_ms + int(number * step)

    pace = int(rate * speed)
    burst = max(1, pace // 500)
    with producing(bootstrap, TOPICS, record, rate=pace, burst=burst, time_ms=time_ms):
        done.wait()


class Watched:
    """The engine under load, and what is known of it."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._broker = psutil.Process(at.broker_pid)
        self._used = self._cpu()

    def start(self) -> None:
        """All topics and queries."""
        for topic in ("D", *TOPICS, *QUERIES):
            self._at.kafka.create_topic(topic, PARTITIONS)
        with producer(self._at.kafka.bootstrap) as put:
            for customer in range(CUSTOMERS):
                put("D", str(customer), {"NAME": f"customer {customer}"}, 0)
        made = [f"CREATE {text.format(name)};" for name, text in QUERIES.items()]
        for statement in [TABLE, *map(STREAM.format, TOPICS), *made]:
            self._at.run(statement)
        if not await_condition(self._running, _START_SECONDS, every=0.1):
            raise SystemExit("not all queries are RUNNING")

    def _running(self) -> bool:
        return all(q.state is QueryState.RUNNING for q in self._at.engine.queries())

    def receiver(self, start: int = OFFSET_END) -> Receiver:
        """One that is up."""
        found = Receiver(self._at.kafka.bootstrap, [*QUERIES], PARTITIONS, start=start)
        if found.first_row(_START_SECONDS) is None:
            raise SystemExit("not all queries write")
        return found

    def _processes(self) -> list[psutil.Process]:
        """The engine's and its JVM's."""
        me = psutil.Process()
        children = me.children(recursive=True)
        return [me, *(c for c in children if "java" in c.name() and c != self._broker)]

    def _cpu(self) -> tuple[float, float, float]:
        """By the clock: CPU seconds of the engine and the broker so far."""
        own = sum(sum(process.cpu_times()[:2]) for process in self._processes())
        return time.monotonic(), own, sum(self._broker.cpu_times()[:2])

    def sample(self, hours: float, found: Latencies | None) -> Sample:
        """What is so now, with the latencies since the last one."""
        queries = self._at.engine.queries()
        if failed := [q.error for q in queries if q.state is QueryState.ERROR]:
            raise SystemExit(f"a query has failed: {failed}")
        before, self._used = self._used, self._cpu()
        seconds, own, broker = (b - a for a, b in zip(before, self._used, strict=True))
        engine, *jvm = processes = self._processes()
        size, files = size_of(self._at.folder / "checkpoints")
        return Sample(
            hours=hours,
            p50_ms=found.percentile(50) if found else math.nan,
            p99_ms=found.percentile(99) if found else math.nan,
            max_ms=found.max_ms if found else math.nan,
            stalled_s=found.stalled_seconds if found else 0,
            rows=found.count if found else 0,
            engine_mb=engine.memory_info().rss / _MIB,
            jvm_mb=sum(each.memory_info().rss for each in jvm) / _MIB,
            broker_mb=self._broker.memory_info().rss / _MIB,
            threads=sum(each.num_threads() for each in processes),
            open_files=sum(each.num_fds() for each in processes),
            checkpoint_mb=size / _MIB,
            checkpoint_files=files,
            cores=own / seconds,
            broker_cores=broker / seconds,
            real_time=Counter(q.mode for q in queries)["real-time"],
            lag=sum(q.lag or 0 for q in queries),
        )


def run(found: Watched, sender_since: float, options: argparse.Namespace) -> Iterator[Sample]:
    """A sample each quarter of an hour; receivers overlap, so that no record is left out."""
    count = math.ceil(4 * options.hours)
    receiver = found.receiver(OFFSET_BEGINNING)
    receiver.begin(sender_since)
    for number in range(1, count + 1):
        hours = number / 4
        time.sleep(max(0.0, sender_since + hours * 3600 / options.speed - time.time()))
        following = found.receiver() if number < count else None
        now = time.time()
        if following is not None:
            following.begin(now)
        yield found.sample(hours, latencies(receiver, now))
        if following is not None:
            receiver = following


def latencies(receiver: Receiver, end: float) -> Latencies | None:
    """None where records took too long."""
    try:
        return receiver.end(end)
    except TimeoutError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=8, help="of the records' time")
    parser.add_argument("--rate", type=int, default=1000, help="records a second of that time")
    parser.add_argument("--speed", type=float, default=20, help="how much faster it passes")
    parser.add_argument("--json", action="store_true", help="one JSON object a sample, at once")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    # Its broker's processes are measured, so that it is its own.
    parser.set_defaults(bootstrap_servers=None, idle=0.0)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    done = _context.Event()
    with place(options) as at:
        found = Watched(at)
        found.start()
        since = time.time()
        since_ms = int((since - options.hours * 3600) * 1000)
        arguments = (at.kafka.bootstrap, options.rate, options.speed, since_ms, done)
        sender = _context.Process(target=send, args=arguments, daemon=True)
        sender.start()
        for sample in run(found, since, options):
            rows.append(asdict(sample))
            if options.json:
                print(json.dumps(rows[-1]), flush=True)
        done.set()
        sender.join()
    if not options.json:
        show_table(rows)


if __name__ == "__main__":
    main()
