"""Kill what views over views run on, and replace views, while transfers come: each read shows one
moment, at which the total is 0, and so does each epoch in the views' topics."""

from __future__ import annotations

import os
import random
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from awaiting import await_until
from background import repeated
from delivery.leaders import leads
from soak.engine_process import let_pass
from soak.server_process import ServerProcess
from soak.transfers import ACCOUNTS, TRANSFERS, Transfers, sums_of_epochs

from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

KILLS = int(os.environ.get("STREAMSQL_EPOCH_KILLS", "50"))
APPLIES = 10
TAKEOVERS = 5
RATE = 500
"""Transfers a second."""
BURST_SECONDS = 0.2
MOST_SECONDS = 8.0
"""Between two kills, once the server is ready."""
PATIENCE = 240.0
STANDARD = "SET 'streamsql.sql.semantics' = 'standard';\n"
PROPERTIES = {
    "streamsql.sql.semantics": "standard",
    "streamsql.consistency.timeout.ms": "60000",
}
TOTALS = """
SELECT c.s - d.s AS a, b.s AS b, o.s AS o, t.total AS t, b.n AS n
FROM (SELECT SUM(credits) AS s FROM credits) c, (SELECT SUM(debits) AS s FROM debits) d,
  (SELECT SUM(balance) AS s, COUNT(*) AS n FROM differences) b,
  (SELECT SUM(balance) AS s FROM balances) o, sums t;
"""
REPLACED = (
    "CREATE OR REPLACE MATERIALIZED VIEW credits AS SELECT target AS account, "
    "SUM(amount) AS credits FROM transfers WHERE amount > -{n} GROUP BY target;",
    "CREATE OR REPLACE MATERIALIZED VIEW differences AS SELECT c.account, "
    "c.credits - d.debits AS balance FROM credits c JOIN debits d ON c.account = d.account "
    "WHERE c.account > -{n};",
)


class Reads:
    """The totals, read all the time from the first server that answers."""

    def __init__(self, servers: list[ServerProcess]) -> None:
        self._servers = servers
        self.full = 0
        """Answers with all accounts."""
        self.refused: dict[str, str] = {}
        """By server, why the last one that failed did."""
        self.wrong: list[Any] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Reads:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE)

    def await_some(self) -> None:
        """Until there have been more."""
        before = self.full

        def more() -> bool:
            return self.full >= before + 3

        try:
            await_until(more, "reads of all accounts", PATIENCE)
        except AssertionError:
            raise AssertionError(f"no reads: {self.refused}") from None

    def _run(self) -> None:
        while not self._stopped.is_set():
            for server in self._servers:
                self._read(server)

    def _read(self, server: ServerProcess) -> None:
        try:
            rows = server.pull(TOTALS, PROPERTIES)
        except (httpx2.TransportError, AssertionError) as error:
            # It is not there, or cannot answer yet.
            self.refused[server.url] = str(error)
            self._stopped.wait(0.1)
            return
        for *sums, accounts in rows:
            if accounts == ACCOUNTS:
                self.full += 1
                if any(sums):
                    self.wrong.append(sums)


def coming(transfers: Transfers) -> AbstractContextManager[None]:
    return repeated(lambda: transfers.send(int(RATE * BURST_SECONDS)), BURST_SECONDS)


def check(server: ServerProcess, reads: Reads, transfers: Transfers, bootstrap: str) -> None:
    def caught_up() -> bool:
        rows = server.pull("SELECT account, balance FROM differences;", PROPERTIES)
        return dict(rows) == transfers.balances  # type: ignore[arg-type]

    await_until(caught_up, "the balances of all transfers", PATIENCE, every=1)
    assert not reads.wrong
    sums = sums_of_epochs(KafkaClient(bootstrap))
    assert set(sums) == {0}
    print(f"{reads.full} reads, {len(sums)} epochs")


def kill(server: ServerProcess, dice: random.Random, *, ready: bool) -> None:
    """Everything, or, once it is ready, the broker or Spark alone, which it starts again itself."""
    parts = psutil.Process(server.pid).children() if ready else []
    if parts and dice.random() < 0.6:
        dice.choice(sorted(parts, key=lambda part: part.pid)).kill()
    else:
        server.kill()
        server.start()


def test_kills_and_replaced_views(tmp_path: Path) -> None:
    dice = random.Random(KILLS)
    server = ServerProcess(tmp_path / "server")
    try:
        server.start()
        server.await_ready()
        server.run(STANDARD + TRANSFERS)
        bootstrap = server.bootstrap()
        transfers = Transfers(bootstrap, seed=KILLS)
        applies = sorted(dice.sample(range(KILLS), min(APPLIES, KILLS)))
        with Reads([server]) as reads, coming(transfers):
            for number in range(KILLS):
                ready = number in applies or dice.random() < 0.8
                if ready:
                    server.await_ready()
                if number % 5 == 4:
                    reads.await_some()
                if number in applies:
                    replaced = REPLACED[number % 2].format(n=number + 1)
                    threading.Thread(target=_try, args=(server, replaced), daemon=True).start()
                let_pass(dice.uniform(0.0, MOST_SECONDS))
                kill(server, dice, ready=ready)
            server.await_ready()
            reads.await_some()
        check(server, reads, transfers, bootstrap)
    finally:
        server.kill()


def _try(server: ServerProcess, sql: str) -> None:
    """A statement that a kill may cut short."""
    try:
        server.ksql(STANDARD + sql, PATIENCE)
    except httpx2.TransportError:
        return


@pytest.mark.parametrize("shared", [True, False])
def test_takeovers(
    tmp_path: Path, broker: EmbeddedBroker, topic_name: str, *, shared: bool
) -> None:
    options = ["--bootstrap-servers", broker.bootstrap, "--service-id", topic_name]
    if shared:
        options += ["--checkpoints", str(tmp_path / "checkpoints")]
    servers = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.await_ready()
        servers[0].run(STANDARD + TRANSFERS)
        transfers = Transfers(broker.bootstrap, seed=TAKEOVERS)
        with Reads(servers) as reads, coming(transfers):
            for _ in range(TAKEOVERS):
                leader, follower = sorted(servers, key=leads, reverse=True)
                let_pass(10.0)
                leader.kill()
                await_until(lambda other=follower: leads(other), "the other to lead", PATIENCE)  # type: ignore[misc]
                reads.await_some()
                leader.start()
                leader.await_ready()
        check(servers[0], reads, transfers, broker.bootstrap)
    finally:
        for server in servers:
            server.kill()
