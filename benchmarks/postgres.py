"""Clients of PostgreSQL's protocol: small queries of which each is new, lookups of keys, and a
dashboard of twenty panels over a table of many rows, beside a query that runs in real time.

A server is started as a user starts it, with its own broker; the load comes from processes of this
machine, so all shares one. Run it on an idle one: `python -m benchmarks.postgres`.
"""

from __future__ import annotations

import argparse
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import get_context

import psycopg
from confluent_kafka import OFFSET_END

from benchmarks.common import PARTITIONS, producer
from benchmarks.queries import LATENCY
from benchmarks.serving import PATIENCE, Result, Server, free_port, percentiles, show_all
from benchmarks.traffic import Receiver, Sender
from streamsql.kafka.client import KafkaClient

TOPIC = "orders"
SETUP = f"""
CREATE SOURCE TABLE orders (id STRING PRIMARY KEY, customer INT, product INT, region STRING,
    status STRING, quantity INT, total DOUBLE, placed TIMESTAMP)
  WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON')
"""
SMALL = {
    "constants": "SELECT 17 * (3 - {0}) + 5, UPPER('a{0}') || 'x'",
    "a filter of 20 rows": "SELECT a, b FROM few WHERE b <> {0} ORDER BY b",
    "groups of 20 rows": "SELECT a % 3, COUNT(*), SUM(b) + {0} FROM few GROUP BY 1 ORDER BY 1",
    "a join of 20 rows": "SELECT x.a, y.b + {0} FROM few x JOIN few y ON x.a = y.b",
}
REGIONS = ("north", "east", "south", "west", "centre", "coast", "islands", "abroad")
STATUSES = ("new", "paid", "shipped", "delivered", "returned")
DAY_MS = 86_400_000
FIRST_MS = 1_704_067_200_000
"""When the first order was placed: 2024-01-01."""
PANELS = {
    "orders in all": "SELECT COUNT(*) AS n FROM orders",
    "revenue": "SELECT SUM(total) AS revenue FROM orders",
    "mean and extremes": "SELECT AVG(total) AS a, MIN(total) AS lo, MAX(total) AS hi FROM orders",
    "customers": "SELECT COUNT(DISTINCT customer) AS customers FROM orders",
    "by region": "SELECT region, COUNT(*) AS n FROM orders GROUP BY region ORDER BY n DESC",
    "revenue by region": "SELECT region, SUM(total) AS s FROM orders GROUP BY region ORDER BY 2",
    "by status": "SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY 1",
    "region and status": "SELECT region, status, COUNT(*) AS n, SUM(total) AS s FROM orders "
    "GROUP BY region, status ORDER BY 1, 2",
    "by day": "SELECT DATE_TRUNC('day', placed) AS day, COUNT(*) AS n, SUM(total) AS s "
    "FROM orders GROUP BY 1 ORDER BY 1",
    "by month and region": "SELECT DATE_TRUNC('month', placed) AS month, region, SUM(total) AS s "
    "FROM orders GROUP BY 1, 2 ORDER BY 1, 2",
    "top products": "SELECT product, SUM(quantity) AS n FROM orders GROUP BY product "
    "ORDER BY n DESC LIMIT 10",
    "top customers": "SELECT customer, SUM(total) AS s FROM orders GROUP BY customer "
    "ORDER BY s DESC LIMIT 10",
    "largest orders": "SELECT id, customer, total FROM orders ORDER BY total DESC LIMIT 10",
    "newest orders": "SELECT id, region, placed FROM orders ORDER BY placed DESC LIMIT 20",
    "share of returns": "SELECT region, COUNT(*) FILTER (WHERE status = 'returned') * 100.0 / "
    "COUNT(*) AS share FROM orders GROUP BY region ORDER BY share DESC",
    "sizes": "SELECT CASE WHEN total < 50 THEN 'small' WHEN total < 200 THEN 'medium' "
    "ELSE 'large' END AS size, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1",
    "busy products": "SELECT product, COUNT(*) AS n FROM orders GROUP BY product "
    "HAVING COUNT(*) > 1000 ORDER BY n DESC LIMIT 50",
    "one region by day": "SELECT DATE_TRUNC('day', placed) AS day, SUM(total) AS s FROM orders "
    "WHERE region = 'north' GROUP BY 1 ORDER BY 1",
    "large in a month": "SELECT COUNT(*) AS n FROM orders WHERE total > 250 "
    "AND placed BETWEEN '2024-02-01T00:00:00' AND '2024-03-01T00:00:00'",
    "by hour": "SELECT EXTRACT(HOUR FROM placed) AS hour, AVG(total) AS a FROM orders "
    "GROUP BY 1 ORDER BY 1",
}
_ARRIVAL_SECONDS = 2.0
"""What is sent after a period, so that what was sent before its end is known to have come."""
_context = get_context("spawn")


def order(number: int) -> tuple[str, dict[str, object]]:
    """Key and value of an order."""
    rest = number * 2_654_435_761 % (1 << 32)
    return f"k{number}", {
        "CUSTOMER": rest % 50_000,
        "PRODUCT": rest // 7 % 1_000,
        "REGION": REGIONS[rest // 11 % len(REGIONS)],
        "STATUS": STATUSES[rest // 13 % len(STATUSES)],
        "QUANTITY": rest // 17 % 9 + 1,
        "TOTAL": rest // 19 % 30_000 / 100,
        "PLACED": FIRST_MS + rest % (90 * DAY_MS),
    }


def connect(port: int) -> psycopg.Connection:
    return psycopg.connect(host="127.0.0.1", port=port, user="ann", autocommit=True)


# -- small queries -------------------------------------------------------------------------------


def small(port: int, times: int) -> Iterator[Result]:
    """Queries over constants and over 20 rows, with other numbers each time, so that none of their
    plans is kept."""
    with connect(port) as connection:
        connection.execute("CREATE TABLE few (a INT, b INT)")
        rows = ", ".join(f"({number}, {number * 7 % 20})" for number in range(20))
        connection.execute(f"INSERT INTO few VALUES {rows}")
        for name, sql in SMALL.items():
            taken = []
            for number in range(2 * times):
                begin = time.perf_counter()
                assert connection.execute(sql.format(number)).fetchall(), sql
                taken.append((time.perf_counter() - begin) * 1000)
            p50, p95, p99 = percentiles(taken[times:])
            yield Result(f"ms, {name}", p50, p50, p95, p99)


# -- lookups -------------------------------------------------------------------------------------


def _look_up(port: int, rows: int, connections: int, seconds: float) -> list[float]:
    """ms of each lookup: every connection asks for a random key once it has the answer before."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    def ask() -> None:
        with connect(port) as connection, connection.cursor() as cursor:
            while (begin := time.perf_counter()) < end:
                key = f"k{random.randrange(rows)}"
                cursor.execute("SELECT id, region, total FROM orders WHERE id = %s", [key])
                found = cursor.fetchone()
                taken.append((time.perf_counter() - begin) * 1000)
                assert found is not None and found[0] == key, found

    threads = [threading.Thread(target=ask) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def lookups(port: int, rows: int, connections: int, seconds: float) -> Result:
    """How many lookups psycopg gets answered in a second, and in how many ms each."""
    with _context.Pool(1) as pool:
        taken = pool.apply(_look_up, (port, rows, connections, seconds))
    name = f"lookups/s, {connections} connection{'s' if connections > 1 else ''}"
    return Result(name, len(taken) / seconds, *percentiles(taken))


# -- panels --------------------------------------------------------------------------------------


class Dashboard:
    """A connection for each panel, as a tool's pool keeps them."""

    def __init__(self, port: int) -> None:
        self._stack = ExitStack()
        self._connections = [self._stack.enter_context(connect(port)) for _ in PANELS]

    def close(self) -> None:
        self._stack.close()

    def refresh(self) -> tuple[float, dict[str, float]]:
        """All panels at once: ms until the last is there, and of each."""
        taken: dict[str, float] = {}
        begin = time.perf_counter()

        def ask(connection: psycopg.Connection, name: str, sql: str) -> None:
            assert connection.execute(sql).fetchall(), name
            taken[name] = (time.perf_counter() - begin) * 1000

        threads = [
            threading.Thread(target=ask, args=(connection, name, sql))
            for connection, (name, sql) in zip(self._connections, PANELS.items(), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == len(PANELS), f"no answer: {PANELS.keys() - taken.keys()}"
        return max(taken.values()), taken


def panels(port: int, times: int) -> Iterator[Result]:
    """A dashboard opened for the first time, opened again, and each of its panels alone."""
    dashboard = Dashboard(port)
    yield Result("ms, 20 panels, the first time", dashboard.refresh()[0])
    taken = [dashboard.refresh()[0] for _ in range(times)]
    p50, p95, p99 = percentiles(taken)
    yield Result("ms, 20 panels, again", p50, p50, p95, p99)
    dashboard.close()
    with connect(port) as connection:
        for name, sql in PANELS.items():
            alone = []
            for _ in range(times):
                begin = time.perf_counter()
                connection.execute(sql).fetchall()
                alone.append((time.perf_counter() - begin) * 1000)
            p50, p95, p99 = percentiles(alone)
            yield Result(f"ms, {name}, alone", p50, p50, p95, p99)


# -- beside a query --------------------------------------------------------------------------------


class Query:
    """A projection that writes `rate` rows a second, in real time."""

    def __init__(self, server: Server, port: int, rate: int) -> None:
        self._bootstrap = server.bootstrap()
        self._kafka = KafkaClient(self._bootstrap)
        for topic in ("events", "seen"):
            self._kafka.create_topic(topic, PARTITIONS)
        with connect(port) as connection:
            for statement in LATENCY["projection"].over("events", "-", "seen").split("\n"):
                connection.execute(statement)
        self._sender = Sender(self._bootstrap, ["events"], rate)

    def stop(self) -> None:
        self._sender.stop()
        self._kafka.close()

    def latency(self, name: str, seconds: float, beside: Callable[[], None]) -> Result:
        """From producer to consumer, in ms, while something is done again and again."""
        receiver = Receiver(self._bootstrap, ["seen"], PARTITIONS, start=OFFSET_END)
        if receiver.first_row(PATIENCE) is None:
            raise TimeoutError("the query writes nothing")
        begin = time.time()
        receiver.begin(begin)
        while time.time() < begin + seconds:
            beside()
        end = time.time()
        time.sleep(_ARRIVAL_SECONDS)
        found = receiver.end(end)
        p50, p95, p99 = (found.percentile(percent) for percent in (50, 95, 99))
        return Result(f"ms p99, {name}", p99, p50, p95, p99)


def beside_a_query(server: Server, port: int, options: argparse.Namespace) -> Iterator[Result]:
    """A query's latency alone, beside a dashboard that is refreshed now and then, and beside one
    that is refreshed without a pause; and how long its refreshing takes meanwhile."""
    query = Query(server, port, options.rate)
    dashboard = Dashboard(port)
    taken: list[float] = []

    def refresh() -> None:
        taken.append(dashboard.refresh()[0])

    def now_and_then() -> None:
        begin = time.monotonic()
        refresh()
        time.sleep(max(0.0, begin + options.refresh - time.monotonic()))

    # The query's first minute is its catch-up and the JVM's compiling.
    query.latency("warm-up", options.warm_up, lambda: time.sleep(1))
    for name, beside in {
        "the query alone": lambda: time.sleep(0.1),
        f"beside 20 panels every {options.refresh:.0f} s": now_and_then,
        "beside 20 panels without a pause": refresh,
        "the query alone again": lambda: time.sleep(0.1),
    }.items():
        taken.clear()
        yield query.latency(name, options.seconds, beside)
        if taken:
            p50, p95, p99 = percentiles(taken)
            yield Result(f"ms, 20 panels, {name}", p50, p50, p95, p99)
    dashboard.close()
    query.stop()


# -- all -----------------------------------------------------------------------------------------


def measure(server: Server, port: int, options: argparse.Namespace) -> Iterator[Result]:
    server.start()
    kafka = KafkaClient(server.bootstrap())
    kafka.create_topic(TOPIC, PARTITIONS)
    _run(port, SETUP)
    yield from small(port, 100 * options.times)
    begin = time.perf_counter()
    with producer(server.bootstrap()) as put:
        for number in range(options.rows):
            put(TOPIC, *order(number), 0)
    kafka.close()
    with connect(port) as connection:
        deadline = time.monotonic() + PATIENCE
        while connection.execute("SELECT COUNT(*) FROM orders").fetchone() != (options.rows,):
            if time.monotonic() > deadline:
                raise TimeoutError("the table does not catch up")
            time.sleep(0.5)
    yield Result(f"s to write and take in {options.rows:,} rows", time.perf_counter() - begin)
    _look_up(port, options.rows, 4, options.warm_up / 3)
    for connections in options.connections:
        yield lookups(port, options.rows, connections, options.seconds / 3)
    yield from panels(port, options.times)
    yield from beside_a_query(server, port, options)


def _run(port: int, sql: str) -> None:
    """Run a statement as soon as the server takes one."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with connect(port) as connection:
                connection.execute(sql)
                return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=1_000, help="rows a second of the query")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each latency")
    parser.add_argument("--times", type=int, default=5, help="each panel, and all of them")
    parser.add_argument("--refresh", type=float, default=10.0, help="seconds between refreshes")
    parser.add_argument("--warm-up", type=float, default=60.0, help="seconds")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16])
    options = parser.parse_args()
    port = free_port()
    listening = ("--postgres", f"127.0.0.1:{port}")
    show_all(lambda server: measure(server, port, options), options.json, *listening)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", os.getcwd())
    main()
