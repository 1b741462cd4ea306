"""Pull queries over HTTP of a table of many rows: lookups of keys, questions about all rows, and
how far behind its topic the table is.

A server is started as a user starts it, with its own broker; the load comes from this process, so
all shares one machine. Run it on an idle one: `python -m benchmarks.serving`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from confluent_kafka import Producer

from benchmarks.producing import producing
from streamsql.data_folder import DataDir
from streamsql.kafka.broker import broker_status
from streamsql.kafka.client import KafkaClient

TOPIC = "accounts"
PARTITIONS = 2
SETUP = f"""
CREATE SOURCE TABLE accounts
  (id STRING PRIMARY KEY, name STRING, balance DOUBLE, branch INT, updated BIGINT)
  WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON');
"""
BRANCHES = 1_000
QUESTIONS = {
    "COUNT(*), SUM": "SELECT COUNT(*) AS n, SUM(balance) AS total FROM accounts;",
    "GROUP BY": "SELECT branch, COUNT(*) AS n, SUM(balance) AS s FROM accounts GROUP BY branch;",
    "Top 10": "SELECT id, balance FROM accounts ORDER BY balance DESC LIMIT 10;",
    "a filter": "SELECT id, balance FROM accounts WHERE balance BETWEEN 1000 AND 1001;",
}
PATIENCE = 600.0


@dataclass(frozen=True)
class Result:
    """One figure; in ms where its name does not say otherwise."""

    what: str
    value: float
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


def free_port() -> int:
    """A port of this machine without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`streamsql server` in a process of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        """`more`: further options."""
        self._more = more
        self._data = folder / "data"
        self._log = folder / "server.log"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "streamsql.cli.main", "server", "--data", str(self._data)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--listen", f"127.0.0.1:{self.port}", *self._more],
                stdout=log,
                stderr=log,
            )

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """The answer as JSON; raises OSError where there is none (yet)."""
        request = Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json", "accept": "application/json"},
        )
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def await_answer(self, path: str, body: dict[str, Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(path, body)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def store_lag(self) -> int | None:
        """How far the table is behind its topic, in records; None: that is not known yet."""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        found = re.search(r'^streamsql_store_lag_records\{table="ACCOUNTS"\} (\S+)$', text, re.M)
        return None if found is None else int(float(found[1]))

    def await_caught_up(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.store_lag() != 0:
            if time.monotonic() > deadline:
                raise TimeoutError("the table does not catch up")
            time.sleep(0.05)

    def bootstrap(self) -> str:
        """Of its broker, waited for."""
        deadline = time.monotonic() + PATIENCE
        while not (status := broker_status(DataDir.at(self._data))).running:
            if time.monotonic() > deadline:
                raise TimeoutError("the server's broker does not come up")
            time.sleep(0.1)
        assert status.bootstrap is not None
        return status.bootstrap


def lookup(key: int | str) -> dict[str, str]:
    return {"sql": f"SELECT id, name, balance, updated FROM accounts WHERE id = 'k{key}';"}


def record(number: int) -> tuple[str, str]:
    """Key and value of an account."""
    value = {
        "NAME": f"account {number}",
        "BALANCE": number / 7,
        "BRANCH": number % BRANCHES,
        "UPDATED": 0,
    }
    return f"k{number}", json.dumps(value)


def fill(bootstrap: str, rows: int) -> None:
    """The topic with that many keys."""
    client = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1 << 20})
    for number in range(rows):
        key, value = record(number)
        while True:
            try:
                client.produce(TOPIC, key=key, value=value)
                break
            except BufferError:
                client.poll(0.1)
    client.flush()


# -- lookups -------------------------------------------------------------------------------------


async def _ask_for_ever(port: int, rows: int, end: float, taken: list[float]) -> None:
    """One connection that asks for a random key as soon as it has the answer to the one before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /query-stream HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: application/json\r\n"
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n"
    )
    while time.perf_counter() < end:
        key = random.randrange(rows)
        body = json.dumps(lookup(key))
        begin = time.perf_counter()
        writer.write((head.format(len(body)) + body).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        status, *headers = answer.decode().lower().split("\r\n")
        lengths = [h.split(":")[1] for h in headers if h.startswith("content-length:")]
        assert " 200" in status and lengths, answer
        found = await reader.readexactly(int(lengths[0]))
        taken.append(time.perf_counter() - begin)
        assert f'"account {key}"'.encode() in found, found
    writer.close()


async def _load(port: int, rows: int, connections: int, seconds: float) -> list[float]:
    taken: list[float] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_ask_for_ever(port, rows, end, taken) for _ in range(connections)))
    return taken


def lookups(server: Server, rows: int, connections: int, seconds: float) -> Result:
    """How many lookups are answered in a second, and in how many ms each."""
    taken = asyncio.run(_load(server.port, rows, connections, seconds))
    times = [t * 1000 for t in taken]
    name = f"lookups/s, {connections} connection{'s' if connections > 1 else ''}"
    return Result(name, len(taken) / seconds, *percentiles(times))


# -- all rows ------------------------------------------------------------------------------------


def questions(server: Server, times: int) -> Iterator[Result]:
    """How long questions about all rows take: the first of all, which brings the rows into memory,
    and each one when it has been asked before."""
    for number, (name, sql) in enumerate(QUESTIONS.items()):
        taken = []
        for _ in range(times + 1):
            begin = time.perf_counter()
            server.ask("/query-stream", {"sql": sql})
            taken.append((time.perf_counter() - begin) * 1000)
        if number == 0:
            yield Result(f"ms, {name}, the first time", taken[0])
        p50, p95, p99 = percentiles(taken[1:])
        yield Result(f"ms, {name}, again", p50, p50, p95, p99)


# -- lag -----------------------------------------------------------------------------------------


def updating(bootstrap: str, rows: int, rate: int) -> AbstractContextManager[None]:
    """`rate` updates a second of random keys until the block ends; one in a hundred is of the key
    `hot` and has the time in it."""

    def update(number: int) -> tuple[str, str]:
        if number % 100 == 0:
            return "khot", json.dumps({"UPDATED": int(time.time() * 1000)})
        return record(random.randrange(rows))

    return producing(bootstrap, TOPIC, update, rate=rate, burst=rate // 100, linger_ms=5)


def lag(server: Server, rows: int, rate: int, seconds: float) -> Result:
    """How old, in ms, the newest update is that a lookup sees, among `rate` updates a second."""
    ages: list[float] = []
    with updating(server.bootstrap(), rows, rate):
        time.sleep(2)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, row = server.ask("/query-stream", lookup("hot"))
            ages.append(time.time() * 1000 - row[3])
            time.sleep(0.05)
    return Result(f"ms behind at {rate:,} updates/s, at most", max(ages), *percentiles(ages))


# -- all -----------------------------------------------------------------------------------------


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    p50, p95, p99 = (
        ordered[min(len(ordered) - 1, int(len(ordered) * p))] for p in (0.5, 0.95, 0.99)
    )
    return p50, p95, p99


def measure(server: Server, options: argparse.Namespace) -> Iterator[Result]:
    server.start()
    kafka = KafkaClient(server.bootstrap())
    kafka.create_topic(TOPIC, PARTITIONS)
    server.await_answer("/ksql", {"ksql": SETUP})
    begin = time.perf_counter()
    fill(server.bootstrap(), options.rows)
    server.await_caught_up()
    yield Result(f"s to write and take in {options.rows:,} rows", time.perf_counter() - begin)
    for which in ("first", "second"):
        begin = time.perf_counter()
        server.ask("/query-stream", lookup(options.rows - 1))
        yield Result(f"ms, the {which} lookup", (time.perf_counter() - begin) * 1000)
    yield from questions(server, options.times)
    kafka.close()
    server.stop()
    begin = time.perf_counter()
    server.start()
    server.await_answer("/query-stream", lookup(1))
    yield Result("s from start to first answer", time.perf_counter() - begin)
    lookups(server, options.rows, 4, options.warm_up)
    for connections in options.connections:
        yield lookups(server, options.rows, connections, options.seconds)
    yield lag(server, options.rows, options.rate, options.seconds)


def show(result: Result, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(result)), flush=True)
        return
    known = (result.p50, result.p95, result.p99)
    times = "" if None in known else "  p50 {:.1f}  p95 {:.1f}  p99 {:.1f} ms".format(*known)
    print(f"{result.value:12,.1f} {result.what}{times}", flush=True)


def show_all(measured: Callable[[Server], Iterator[Result]], as_json: bool, *more: str) -> None:
    """What is measured of a server with a data folder of its own; `more`: its further options."""
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        server = Server(Path(name), *more)
        try:
            for result in measured(server):
                show(result, as_json)
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=10_000, help="updates a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--times", type=int, default=10, help="each question about all rows")
    parser.add_argument("--warm-up", type=float, default=20.0, help="seconds")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16])
    options = parser.parse_args()
    show_all(lambda server: measure(server, options), options.json)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", os.getcwd())
    main()
