"""TPC-H's 22 queries (examples/tpch) as materialized views over tables that change.

    python -m benchmarks.tpch --queries q1,q3 --checkpoints 50 --rate 1000

Rows are inserted, changed and deleted at a steady rate. At a checkpoint writing pauses, and after
FLUSH each view must be equal to DuckDB's answer over the same rows. The engine restarts between
checkpoints. The freshness of a change is the time from when it was sent until the batch that
contains it was committed. Cores are those of the engine's processes while rows are written.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
from confluent_kafka import Producer

from benchmarks.common import show_table
from benchmarks.tpch_rows import KEYS, Change, Database, Row
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, Session
from streamsql.errors import ExternalError
from streamsql.executor.queries.checkpoint import parse_offsets
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.nodes import CreateSource
from streamsql.parser import parse
from streamsql.results import Answer
from streamsql.types import DATE, SQLType, to_sql

FOLDER = Path(__file__).parents[1] / "examples" / "tpch"
SETTINGS = {
    "streamsql.sql.semantics": "standard",
    "streamsql.consistency.timeout.ms": "600000",
}
_START_SECONDS = 300.0
_FLUSH_SECONDS = 600.0
_BURSTS = 100
"""A second."""
_POLL_SECONDS = 0.02


def all_queries() -> list[str]:
    found = (path.stem for path in FOLDER.glob("q*.sql"))
    return sorted(found, key=lambda name: int(name[1:]))


def query_text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text("utf-8")


def tables_text() -> str:
    return (FOLDER / "tables.sql").read_text("utf-8")


@cache
def columns() -> dict[str, dict[str, SQLType]]:
    """The columns of each table, in the order of its rows."""
    found = {}
    for statement in parse(tables_text()):
        assert isinstance(statement, CreateSource)
        found[statement.name.lower()] = {c.name: c.type for c in statement.columns}
    return found


def record(change: Change) -> tuple[str, str, str | None]:
    """The change as a record: table, key and value."""
    table, key, row = change
    names = list(columns()[table])
    cells: Any = key[0] if len(key) == 1 else dict(zip(names, key, strict=False))
    value = None
    if row is not None:
        value = json.dumps(dict(zip(names[len(key) :], row[len(key) :], strict=True)))
    return table, json.dumps(cells), value


# -- what is expected ----------------------------------------------------------------------------


class Expected:
    """DuckDB's answers over the rows of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._columns = columns()

    def load(self) -> None:
        """Takes the present rows."""
        self._connection = duckdb.connect()
        for table, types in self._columns.items():
            rows = self._database.rows(table).values()
            cells = zip(*rows, strict=True)
            given = pa.table(dict(zip(types, map(list, cells), strict=True)))
            self._connection.register("given", given)
            values = ", ".join(_cast(name, kind) for name, kind in types.items())
            self._connection.execute(f"CREATE TABLE {table} AS SELECT {values} FROM given")
            self._connection.unregister("given")

    def rows(self, name: str) -> list[Row]:
        """The answer of a query."""
        return self._connection.execute(query_text(name)).fetchall()


def _cast(name: str, kind: SQLType) -> str:
    if kind == DATE:
        return f"DATE '1970-01-01' + CAST({name} AS INT) AS {name}"
    return f"CAST({name} AS {to_sql(kind)}) AS {name}"


def difference(found: Iterable[Row], expected: Iterable[Row]) -> str | None:
    """What differs between two bags of rows; None: nothing. Numbers may differ by rounding."""
    ours, theirs = (sorted(map(_comparable, rows), key=_order) for rows in (found, expected))
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, expected {len(theirs)}"
    for one, other in zip(ours, theirs, strict=True):
        if not all(map(_equal, one, other)):
            return f"{one}, expected {other}"
    return None


def _comparable(row: Row) -> Row:
    return tuple(cell if cell is None or isinstance(cell, str) else _number(cell) for cell in row)


def _number(cell: Any) -> float | str:
    if isinstance(cell, date):
        return float((cell - date(1970, 1, 1)).days)
    try:
        return float(cell)
    except (TypeError, ValueError):
        return str(cell)


def _order(row: Row) -> list[tuple[str, Any]]:
    texts = [(type(cell).__name__, cell or "") for cell in row if not isinstance(cell, float)]
    return [*texts, *(("number", cell) for cell in row if isinstance(cell, float))]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    return bool(one == other)


# -- what is sent --------------------------------------------------------------------------------


class Sender:
    """Writes rows to the tables' topics, and knows when it has sent each record."""

    def __init__(self, bootstrap: str, topics: dict[str, str]) -> None:
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 5,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 500_000,
            }
        )
        self._topics = topics
        self.sent: dict[str, list[float]] = {topic: [] for topic in topics.values()}
        """By topic, the times of its records: a record's place is its offset."""

    def fill(self, database: Database) -> None:
        for table in KEYS:
            for key, row in database.rows(table).items():
                self._send((table, key, row))
        self._client.flush()

    def send(self, changes: Iterator[Change], rate: int, seconds: float) -> None:
        """Changes at this rate for a time; returns once all are written."""
        begin = time.time()
        for burst in range(int(seconds * _BURSTS)):
            for change in islice(changes, rate // _BURSTS):
                self._send(change)
            self._client.poll(0)
            time.sleep(max(0.0, begin + (burst + 1) / _BURSTS - time.time()))
        self._client.flush()

    def _send(self, change: Change) -> None:
        table, key, value = record(change)
        topic = self._topics[table]
        self.sent[topic].append(time.time())
        while True:
            try:
                self._client.produce(topic, key=key, value=value)
                return
            except BufferError:
                self._client.poll(0.1)


class Freshness:
    """Watches the commits of a view's checkpoint: each gives the latencies of its changes."""

    def __init__(self, checkpoint: Path, sent: dict[str, list[float]]) -> None:
        self._checkpoint, self._sent = checkpoint, sent
        self._seen = self._numbers()
        self._done = {topic: len(times) for topic, times in sent.items()}
        self.latencies: list[float] = []
        self.batches = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            self._look()

    def _numbers(self) -> set[int]:
        commits = self._checkpoint / "commits"
        return {int(p.name) for p in commits.iterdir() if p.name.isdigit()}

    def _look(self) -> None:
        for number in sorted(self._numbers() - self._seen):
            self._seen.add(number)
            self.batches += 1
            when = (self._checkpoint / "commits" / str(number)).stat().st_mtime
            offsets = (self._checkpoint / "offsets" / str(number)).read_text("utf-8")
            for topic, partitions in parse_offsets(offsets).items():
                last = sum(partitions.values())
                times = self._sent[topic][self._done[topic] : last]
                self.latencies += (when - sent for sent in times)
                self._done[topic] = max(last, self._done[topic])

    def percentile(self, percent: float) -> float:
        """In milliseconds."""
        found = sorted(self.latencies)
        return 1000 * found[min(len(found) - 1, int(len(found) * percent / 100))] if found else 0.0


# -- the engine ----------------------------------------------------------------------------------


@dataclass
class House:
    """An engine over the tables, which can be restarted."""

    config: EngineConfig
    database: Database
    sender: Sender
    session: Session = field(default_factory=lambda: Session(properties=dict(SETTINGS)))

    def __post_init__(self) -> None:
        # One for all queries: the changes of an order follow each other.
        self.changes = self.database.changes()

    def start(self) -> None:
        before = set(psutil.Process().children(recursive=True))
        self.engine = Engine(self.config)
        self.engine.start()
        self.engine.wait_until_ready(_START_SECONDS)
        me = psutil.Process()
        self._processes = [me, *(set(me.children(recursive=True)) - before)]

    def restart(self) -> None:
        self.engine.close()
        self.start()

    def run(self, sql: str) -> list[Any]:
        return list(self.engine.execute(sql, self.session))

    def flush(self) -> None:
        """FLUSH waits two minutes; a slow machine takes longer to catch up."""
        deadline = time.monotonic() + _FLUSH_SECONDS
        while True:
            try:
                self.run("FLUSH;")
                return
            except ExternalError as error:
                print(error.message, file=sys.stderr, flush=True)
                if time.monotonic() > deadline:
                    raise

    def rows(self, sql: str) -> list[Row]:
        (answer,) = (part for part in self.run(sql) if isinstance(part, Answer))
        return [row.values for row in answer.rows]

    def cpu(self) -> float:
        times = [process.cpu_times() for process in self._processes]
        return sum(t.user + t.system for t in times)

    def checkpoint(self, view: str) -> Path:
        query = self.engine.catalog().get(view.upper()).created_by_query
        assert query is not None and self.config.data_dir is not None
        return self.config.data_dir / "checkpoints" / query


@dataclass
class Found:
    """What a view showed."""

    query: str
    checkpoints: int = 0
    rows: int = 0
    catch_up_s: float = 0.0
    batches: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    cores: float = 0.0
    difference: str = ""


def measure(house: House, queries: Sequence[str], options: argparse.Namespace) -> list[Found]:
    """The views of some queries together."""
    found = {name: Found(name) for name in queries}
    begin = time.monotonic()
    for name in queries:
        house.run(f"CREATE MATERIALIZED VIEW {name} AS {query_text(name)};")
    expected = Expected(house.database)
    restarts = {
        (n + 1) * options.checkpoints // (options.restarts + 1) for n in range(options.restarts)
    }
    house.flush()
    caught_up = time.monotonic() - begin
    cpu = seconds = 0.0
    latencies: dict[str, list[Freshness]] = {name: [] for name in queries}
    for checkpoint in range(options.checkpoints + 1):
        if checkpoint in restarts:
            house.restart()
            house.flush()
        if checkpoint:
            watching = [Freshness(house.checkpoint(name), house.sender.sent) for name in queries]
            before, start = house.cpu(), time.monotonic()
            house.sender.send(house.changes, options.rate, options.seconds)
            cpu += house.cpu() - before
            seconds += time.monotonic() - start
            house.flush()
            for name, each in zip(queries, watching, strict=True):
                each.stop()
                latencies[name].append(each)
        expected.load()
        for name, row in found.items():
            ours = house.rows(f"SELECT * FROM {name};")
            differs = difference(ours, expected.rows(name))
            row.rows = len(ours)
            if differs is None:
                row.checkpoints += bool(checkpoint)
            else:
                row.difference = row.difference or f"checkpoint {checkpoint}: {differs}"
    for name, row in found.items():
        row.catch_up_s = caught_up
        row.cores = cpu / seconds if seconds else 0.0
        row.batches = sum(each.batches for each in latencies[name])
        together = latencies[name][0]
        together.latencies = [ms for each in latencies[name] for ms in each.latencies]
        row.p50_ms, row.p99_ms = together.percentile(50), together.percentile(99)
        house.run(f"DROP MATERIALIZED VIEW {name};")
    return list(found.values())


def main() -> int:
    """0 only if all views are equal at all checkpoints."""
    options = arguments().parse_args()
    failed = False
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamsql-bench-"))
        broker = EmbeddedBroker(DataDir.at(Path(name)))
        broker.start(_START_SECONDS)
        stack.callback(broker.stop)
        database = Database(options.scale)
        sender = Sender(broker.bootstrap, {table: table.upper() for table in KEYS})
        config = EngineConfig(Path(name) / "engine", broker.bootstrap)
        house = House(config, database, sender)
        house.start()
        stack.callback(lambda: house.engine.close())
        house.run(tables_text())
        sender.fill(database)
        queries = options.queries
        for first in range(0, len(queries), options.together):
            rows = measure(house, queries[first : first + options.together], options)
            show_table([vars(row) for row in rows])
            sys.stdout.flush()
            failed = failed or any(row.checkpoints < options.checkpoints for row in rows)
    return int(failed)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=lambda text: text.split(","), default=all_queries())
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--checkpoints", type=int, default=50)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--rate", type=int, default=1000, help="changes a second")
    parser.add_argument("--seconds", type=float, default=2.0, help="between two checkpoints")
    parser.add_argument("--together", type=int, default=1, help="views at a time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
