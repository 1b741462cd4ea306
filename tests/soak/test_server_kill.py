"""Kill servers while statements and records come in: what was acknowledged is there afterwards.

Of two servers, the other takes over; a lone one comes back with everything. No query is lost, none
runs twice, and the tables are exact.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from awaiting import await_until
from soak.server_process import ServerProcess

from streamsql.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TAKE_OVER_SECONDS = 15.0
PATIENCE = 180.0
LOOK_SECONDS = 0.5
"""Between two requests of the same: a machine that is asked all the time does nothing else."""
QUERIES_AT_A_TIME = 3
"""Of those that come and go; each is a Spark query."""

SQL = """
CREATE STREAM events (k STRING KEY, v BIGINT)
  WITH (KAFKA_TOPIC='{topic}', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM events GROUP BY k;
"""


class Client:
    """Sends statements and inserts, one after the other, and knows what was acknowledged."""

    def __init__(self, server: ServerProcess, topic: str, *, queries: bool) -> None:
        """`queries`: also queries that come and go."""
        self.server = server
        self._topic = topic
        self._queries = queries
        self.made: set[str] = set()
        self.dropped: set[str] = set()
        self.in_doubt: set[str] = set()
        """No answer has confirmed these."""
        self.inserted = Counter[str]()
        self.inserts_in_doubt = Counter[str]()
        self.failures: list[str] = []
        """Answers that no client should get, whatever happens to the server."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            number += 1
            self._insert(f"k{number % 7}", number)
            if number % 5 == 0:
                source = f"WITH (KAFKA_TOPIC='{self._topic}', VALUE_FORMAT='JSON')"
                self._make(f"S{number}", f"CREATE STREAM s{number} (v BIGINT) {source};")
            if self._queries and number % 40 == 0:
                self._make(f"Q{number}", f"CREATE STREAM q{number} AS SELECT k, v FROM events;")
                self._drop_oldest()

    def _insert(self, key: str, value: int) -> None:
        code = self._send(f"INSERT INTO events VALUES ('{key}', {value});")
        if code == 200:
            self.inserted[key] += 1
        elif code is None or code >= 500:
            self.inserts_in_doubt[key] += 1

    def _make(self, name: str, sql: str) -> None:
        code = self._send(sql)
        if code == 200:
            self.made.add(name)
        elif code is None or code >= 500:
            self.in_doubt.add(name)

    def _drop_oldest(self) -> None:
        alive = sorted((n for n in self.made if n[0] == "Q"), key=lambda name: int(name[1:]))
        if len(alive) > QUERIES_AT_A_TIME:
            self.made.discard(alive[0])
            code = self._send(f"DROP STREAM {alive[0]};")
            (self.dropped if code == 200 else self.in_doubt).add(alive[0])

    def _send(self, sql: str) -> int | None:
        """The status; None where there was no answer."""
        try:
            answer = self.server.ksql(sql)
        except httpx2.TransportError:
            # No server there, or no longer.
            self._stopped.wait(0.1)
            return None
        if answer.status_code not in (200, 503):
            self.failures.append(f"{sql}: {answer.text}")
        return answer.status_code


def check(server: ServerProcess, client: Client) -> None:
    """What must be there is, what must not is not, and the table is what the records make it."""
    assert not client.failures, client.failures
    found = server.sources()
    assert client.made <= found, f"lost: {client.made - found}"
    assert not client.dropped & found, f"come back: {client.dropped & found}"
    extra = {name for name in found - client.made - client.in_doubt if name[1:].isdecimal()}
    assert not extra, f"never asked for: {extra}"
    states = server.states()
    writers = {name for name in found if name[0] == "Q" or name == "TOTALS"}
    written = Counter(query_id.split("_")[1] for query_id in states)
    assert written == Counter(writers), "each has its one query"
    try:
        await_until(
            lambda: set(server.states().values()) == {"RUNNING"},
            "all queries to run",
            PATIENCE,
            every=LOOK_SECONDS,
        )
    except AssertionError:
        raise AssertionError(f"not all queries run: {server.queries()}") from None
    least = client.inserted
    most = client.inserted + client.inserts_in_doubt
    assert sum(least.values()) >= 15, "there was a load"

    def counts() -> dict[str, int]:
        return dict(server.pull("SELECT k, n FROM totals;"))

    def enough() -> bool:
        rows = counts()
        return all(rows.get(key, 0) >= n for key, n in least.items())

    await_until(
        enough, f"the table to hold what was acknowledged, {least}", PATIENCE, every=LOOK_SECONDS
    )
    assert all(n <= most[key] for key, n in counts().items()), f"{counts()} is more than {most}"
    events = server.pull("SELECT k, COUNT(*) AS n FROM events GROUP BY k;")
    exact = dict(events)
    await_until(lambda: counts() == exact, f"{exact} in the table", PATIENCE, every=LOOK_SECONDS)


@contextmanager
def running(*servers: ServerProcess) -> Iterator[None]:
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.await_ready()
        yield
    finally:
        for server in servers:
            server.kill()


def leads(server: ServerProcess) -> bool:
    return "STANDBY" not in server.states().values()


@pytest.mark.slow
def test_of_two_servers_the_other_takes_over(
    tmp_path: Path, broker: EmbeddedBroker, topic_name: str
) -> None:
    options = (
        *("--bootstrap-servers", broker.bootstrap),
        *("--service-id", topic_name),
        *("--checkpoints", str(tmp_path / "checkpoints")),
    )
    servers = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
    with running(*servers):
        # Each takes statements, and sends to the other what only that may do.
        servers[0].run(SQL.format(topic=topic_name))
        assert "TOTALS" in servers[1].sources(), "acknowledged, so the other knows of it too"
        leader, follower = sorted(servers, key=leads, reverse=True)
        assert leads(leader) and not leads(follower)
        with Client(follower, topic_name, queries=False) as client:
            await_until(lambda: len(client.made) >= 3, "statements by way of the follower", 30)
            leader.kill()
            await_until(
                lambda: leads(follower),
                "the follower to lead",
                TAKE_OVER_SECONDS,
                every=LOOK_SECONDS,
            )
            made = len(client.made)
            await_until(lambda: len(client.made) > made, "statements again", TAKE_OVER_SECONDS)
        check(follower, client)
        assert follower.stop() == 0


def await_any_moment(client: Client, dice: random.Random) -> None:
    """Some seconds, in which at least one statement was acknowledged."""
    moment = time.monotonic() + dice.uniform(0.0, 10.0)
    made = len(client.made)
    await_until(
        lambda: len(client.made) > made and time.monotonic() > moment, "any moment", PATIENCE
    )


@pytest.mark.slow
def test_twenty_kills_of_a_lone_server(tmp_path: Path) -> None:
    run(tmp_path, kills=20)


def run(tmp_path: Path, kills: int) -> None:
    """Kill a server and its Kafka, each time as soon as it is up again and some seconds later."""
    dice = random.Random(20)
    server = ServerProcess(tmp_path, "--service-id", "lone")
    with running(server):
        server.run(SQL.format(topic="events"))
        with Client(server, "events", queries=True) as client:
            for _ in range(kills):
                await_any_moment(client, dice)
                server.kill()
                server.start()
                server.await_ready()
        check(server, client)
        assert server.stop() == 0
