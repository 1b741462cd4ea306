"""What views say is of one moment: transfers among ten accounts, whose balances add up to 0."""

from __future__ import annotations

import json
import random
import re
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import pytest
from awaiting import await_until
from background import repeated
from engine.live import PATIENCE, Live
from views.whole_epochs import batches_done, whole_epochs

from streamsql.engine import Session
from streamsql.errors import ExternalError, StreamSQLError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Answer, Progress, Row, Text

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ACCOUNTS = 10
TRANSFERS = """
SET 'streamsql.sql.semantics' = 'standard';
SET 'streamsql.consistency.timeout.ms' = '60000';
CREATE STREAM $transfers (id BIGINT, src INT, dst INT, amount BIGINT)
  WITH (KAFKA_TOPIC='$transfers', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
VIEWS = """
CREATE MATERIALIZED VIEW $credits AS
  SELECT dst AS account, SUM(amount) AS credits FROM $transfers GROUP BY dst;
CREATE MATERIALIZED VIEW $debits AS
  SELECT src AS account, SUM(amount) AS debits FROM $transfers GROUP BY src;
CREATE MATERIALIZED VIEW $balance AS
  SELECT c.account AS account, c.credits - d.debits AS balance
  FROM $credits c JOIN $debits d ON c.account = d.account;
CREATE MATERIALIZED VIEW $total AS SELECT SUM(balance) AS total, COUNT(*) AS n FROM $balance;
"""
KEYED = """
CREATE TABLE $accounts (id INT PRIMARY KEY);
INSERT INTO $accounts VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE MATERIALIZED VIEW $ins AS
  SELECT a.id, SUM(t.amount) AS credits FROM $accounts a JOIN $transfers t ON a.id = t.dst
  GROUP BY a.id;
CREATE MATERIALIZED VIEW $outs AS
  SELECT a.id, SUM(t.amount) AS debits FROM $accounts a JOIN $transfers t ON a.id = t.src
  GROUP BY a.id;
"""
TOTALS = """
SELECT c.s - d.s, b.s, t.total, b.n, t.n
FROM (SELECT SUM(credits) AS s FROM $credits) c, (SELECT SUM(debits) AS s FROM $debits) d,
  (SELECT SUM(balance) AS s, COUNT(*) AS n FROM $balance) b, $total t;
"""
Rows = list[tuple[Any, ...]]


def _rows(live: Live, sql: str, session: Session) -> Rows:
    return _read(live, sql, session)[0]


def _read(live: Live, sql: str, session: Session | None = None) -> tuple[Rows, int | None]:
    """The rows, and the epoch that the answer names."""
    results = live.engine.execute(live.sql(sql), session or live.session)
    (answer,) = [part for part in results if isinstance(part, Answer)]
    return [row.values for row in answer.rows], answer.epoch


class Transfers:
    """Transfers of 1 between two accounts, in a thread of their own."""

    def __init__(self, live: Live, kafka: KafkaClient) -> None:
        self._topic, self._kafka = live.name("TRANSFERS"), kafka
        self._random = random.Random(7)
        self.sent = 0

    def send(self, count: int) -> None:
        records = []
        for _ in range(count):
            src, dst = (self._random.randrange(ACCOUNTS) for _ in range(2))
            row = {"ID": self.sent, "SRC": src, "DST": dst, "AMOUNT": 1}
            records.append(NewRecord(None, json.dumps(row).encode()))
            self.sent += 1
        self._kafka.produce(self._topic, records)

    def going_on(self) -> AbstractContextManager[None]:
        return repeated(lambda: self.send(20), 0.02)


class Watched:
    """The totals that are read all the time, until enough have been."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._session = Session(properties=dict(live.session.properties))
        self.full = 0

    def read(self) -> None:
        for difference, balance, total, accounts, counted in _rows(
            self._live, TOTALS, self._session
        ):
            assert accounts == counted
            if accounts == ACCOUNTS:
                assert (difference, balance, total) == (0, 0, 0)
                self.full += 1


def _check_changelog(kafka: KafkaClient, topic: str, column: str) -> int:
    """How many epochs had all accounts."""
    full = 0
    for rows in whole_epochs(kafka, topic).values():
        values = [json.loads(value)[column] for value in rows.values()]
        if len(values) == ACCOUNTS:
            assert sum(values) == 0
            full += 1
    return full


def _check_delay(kafka: KafkaClient, view: str, reader: str) -> None:
    """A batch does not wait for the fetch that was sent ahead of it, which is half a second.

    The least of many epochs is compared, which a busy machine hardly changes."""
    done, read = batches_done(kafka, view), batches_done(kafka, reader)
    assert min(read[epoch] - done[epoch] for epoch in done.keys() & read.keys()) < 500


def test_a_new_view_is_of_the_moment_of_the_others(live: Live, kafka: KafkaClient) -> None:
    live.run(TRANSFERS + VIEWS)
    Transfers(live, kafka).send(1_000)
    both = "SELECT n.n, t.n FROM (SELECT MAX(n) AS n FROM $new) n, $total t;"
    for _ in range(2):
        live.run("FLUSH; CREATE MATERIALIZED VIEW $new AS SELECT COUNT(*) AS n FROM $balance;")
        assert _rows(live, both, Session(properties={"streamsql.sql.semantics": "standard"})) == [
            (ACCOUNTS, ACCOUNTS)
        ]
        live.run("DROP MATERIALIZED VIEW $new;")


@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once", marks=pytest.mark.slow)]
)
def test_the_parts_add_up_to_the_whole(live: Live, kafka: KafkaClient, guarantee: str) -> None:
    live.run(TRANSFERS + f"SET 'processing.guarantee' = '{guarantee}';" + VIEWS)
    transfers, watched = Transfers(live, kafka), Watched(live)

    def often() -> bool:
        watched.read()
        return watched.full >= 20

    with transfers.going_on():
        await_until(often, "reads of all accounts", PATIENCE, every=0.01)
        live.restart()
        watched.full = 0
        await_until(often, "reads after a restart", PATIENCE, every=0.01)
    live.run("FLUSH;")
    assert _rows(live, "SELECT total, n FROM $total;", live.session) == [(0, ACCOUNTS)]
    (credits,) = _rows(live, "SELECT SUM(credits) FROM $credits;", live.session)
    assert credits == (transfers.sent,)
    assert _check_changelog(kafka, live.name("BALANCE"), "BALANCE") > 2
    _check_delay(kafka, live.name("CREDITS"), live.name("BALANCE"))


def test_a_session_reads_one_epoch(live: Live, kafka: KafkaClient) -> None:
    live.run(TRANSFERS + VIEWS)
    transfers = Transfers(live, kafka)
    transfers.send(1_000)
    live.run("FLUSH;")
    _rows(live, TOTALS, live.session)  # The stores are open from now on.
    epoch = live.engine.epoch()
    assert epoch is not None
    past = Session(properties={**live.session.properties, "streamsql.view.epoch": str(epoch)})
    sums = "SELECT SUM(credits) FROM $credits;"
    of_key = "SELECT credits FROM $credits WHERE account = 3;"
    before = _rows(live, sums, past), _rows(live, of_key, past)
    assert before[0] == [(1_000,)]
    transfers.send(500)
    live.run("FLUSH;")
    assert _rows(live, sums, live.session) == [(1_500,)]
    assert (_rows(live, sums, past), _rows(live, of_key, past)) == before
    past.properties["streamsql.view.epoch"] = "1000000000"
    with pytest.raises(ExternalError, match="are not kept as of epoch 1000000000"):
        _rows(live, sums, past)


def _now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")


def test_as_of(live: Live, kafka: KafkaClient) -> None:
    live.run(TRANSFERS + VIEWS)
    transfers = Transfers(live, kafka)
    of_key, both = "SELECT credits FROM $credits WHERE account = 3", TOTALS.rstrip(";\n")
    sums = "SELECT SUM(credits) FROM $credits"
    queries = (of_key, both, sums)
    seen: list[tuple[str, dict[str, tuple[Rows, int | None]]]] = []
    for _ in range(3):
        transfers.send(400)
        live.run("FLUSH;")
        answers = {query: _read(live, f"{query};") for query in queries}
        assert answers[sums][0] == [(transfers.sent,)]
        seen.append((_now(), answers))
    for time, answers in seen:
        for query, (rows, epoch) in answers.items():
            assert _read(live, f"{query} AS OF EPOCH {epoch};") == (rows, epoch)
            # The epochs since then, if there were any, had no news.
            assert _read(live, f"{query} AS OF TIMESTAMP '{time}';")[0] == rows
    assert _read(live, f"{sums} AS OF TIMESTAMP NOW() - INTERVAL '0.01 seconds';")[0] == [(1200,)]
    for wanted, error in (
        ("EPOCH 1", "are not kept as of epoch 1"),
        ("TIMESTAMP '2020-02-03 10:20'", "not kept as of TIMESTAMP '2020-02-03 10:20:00.000'"),
        ("TIMESTAMP NOW() + INTERVAL '1 hour'", "has not come yet"),
        ("TIMESTAMP NULL", "TIMESTAMP is null"),
    ):
        for query in queries:
            with pytest.raises(StreamSQLError, match=error) as found:
                _read(live, f"{query} AS OF {wanted};")
            if "kept" in error:
                assert re.search(r"Kept are epochs from \d+ \(.* to \d+", str(found.value.hint))


def test_a_view_that_stands_still_holds_back_its_readers_alone(
    live: Live, kafka: KafkaClient
) -> None:
    live.run(TRANSFERS + VIEWS)
    transfers = Transfers(live, kafka)
    transfers.send(100)
    live.run("FLUSH;")
    query = live.engine.catalog().get(live.name("CREDITS")).created_by_query
    live.run(f"PAUSE {query};")
    transfers.send(100)
    sums = "SELECT SUM(debits) FROM $debits;"
    session = Session(properties=dict(live.session.properties))
    session.properties.pop("streamsql.consistency.token", None)
    await_until(lambda: _rows(live, sums, session) == [(200,)], "the sibling", PATIENCE)
    balance = live.engine.catalog().get(live.name("BALANCE")).created_by_query
    assert balance is not None
    held = live.name("CREDITS")
    await_until(lambda: _reason_names(live, balance, held), "who holds it back is named", 5)
    live.run(f"RESUME {query}; FLUSH;")
    assert _rows(live, "SELECT total, n FROM $total;", live.session) == [(0, ACCOUNTS)]
    await_until(lambda: not _reason_names(live, balance, held), "it is held back no longer", 5)


def _reason_names(live: Live, query: str, holder: str) -> bool:
    return f"waits for {holder}" in live.query(query).reason


@pytest.mark.slow
def test_a_push_query_gives_whole_epochs(live: Live, kafka: KafkaClient) -> None:
    """Of one view, and of a join of two: after each epoch, what has come adds up."""
    live.run(TRANSFERS + VIEWS + KEYED)
    transfers = Transfers(live, kafka)
    transfers.send(1_000)
    live.run("FLUSH;")
    live.session.properties["streamsql.view.progress"] = "true"
    one = "SELECT account, balance FROM $balance EMIT CHANGES;"
    two = """SELECT i.id, i.credits - o.debits AS balance
        FROM $ins i JOIN $outs o ON i.id = o.id EMIT CHANGES;"""
    for sql in (one, two):
        stream = live.stream(sql)
        balances: dict[Any, Any] = {}
        epochs: list[int] = []
        with transfers.going_on():
            for row in stream.rows:
                if isinstance(row, Row):
                    if not row.tombstone:  # of a row without a key, which is written again
                        account, balance = row.values
                        balances[account] = balance
                    continue
                epochs.append(row.epoch)
                if len(balances) == ACCOUNTS:
                    assert sum(balances.values()) == 0, (sql, epochs)
                if len(epochs) == 12:
                    stream.cancel()
        assert epochs == sorted(set(epochs)) and len(epochs) >= 12
        assert len(balances) == ACCOUNTS


@pytest.mark.slow
def test_a_push_query_from_now_on_begins_with_a_whole_epoch(live: Live, kafka: KafkaClient) -> None:
    live.run(TRANSFERS + VIEWS)
    transfers = Transfers(live, kafka)
    transfers.send(100)
    live.run("FLUSH; SET 'auto.offset.reset' = 'latest';")
    live.run("SET 'streamsql.view.progress' = 'true';")
    with transfers.going_on():
        stream = live.stream("SELECT account, balance FROM $balance EMIT CHANGES;")
        rows, first, seen = stream.rows, None, []
        for row in rows:
            if isinstance(row, Row):
                seen += [] if row.tombstone else [row.values]
            elif seen:
                first = row.epoch
                break
        assert first is not None
        before = dict(
            _rows(live, f"SELECT account, balance FROM $balance AS OF EPOCH {first};", live.session)
        )
        assert {account: before[account] for account, _ in seen} == dict(seen)
    stream.cancel()
    list(rows)
    # There is progress without news, too.
    live.run("FLUSH;")
    idle = live.stream("SELECT account, balance FROM $balance EMIT CHANGES;")
    transfers.send(0)
    first_seen = next(idle.rows)
    assert isinstance(first_seen, Progress)
    idle.cancel()
    list(idle.rows)


@pytest.mark.slow
def test_a_select_by_a_spark_job_is_of_one_moment(live: Live, kafka: KafkaClient) -> None:
    """Over several views: one that reads a stream, too, and one that calls a Python function."""
    live.run(TRANSFERS + VIEWS + KEYED)
    transfers = Transfers(live, kafka)
    transfers.send(1_000)
    live.run("CREATE FUNCTION $same (n DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'n'; FLUSH;")
    standard = live.session
    dialect = Session(properties={**standard.properties, "streamsql.sql.semantics": "ksqldb"})
    beside = """
        SELECT c.s - d.s - b.s, c.s, (SELECT COUNT(*) FROM $transfers)
        FROM (SELECT SUM(credits) AS s FROM $credits) c, (SELECT SUM(debits) AS s FROM $debits) d,
            (SELECT SUM(balance) AS s FROM $balance) b"""
    python = """
        SELECT i.id, $same(CAST(i.credits AS DOUBLE)) AS paid, o.debits
        FROM $ins i JOIN $outs o ON i.id = o.id"""
    for sql, session in ((beside, standard), (python, dialect)):
        (explained,) = live.engine.execute(live.sql(f"EXPLAIN {sql};"), session)
        assert isinstance(explained, Text) and "Spark's batch engine" in explained.text
    before, first = _read(live, f"{beside};", standard)
    assert before == [(0, 1_000, 1_000)] and first is not None
    with transfers.going_on():
        seen = [_read(live, f"{beside};", standard) for _ in range(2)]
        for ((difference, total, count),), epoch in seen:
            assert difference == 0 and count >= total
            sums = f"SELECT SUM(credits) FROM $credits AS OF EPOCH {epoch};"
            assert _read(live, sums, standard)[0] == [(total,)]
        found = [_read(live, f"{python};", dialect) for _ in range(2)]
        for rows, epoch in found:
            assert (
                len(rows) == ACCOUNTS and sum(paid - float(debits) for _, paid, debits in rows) == 0
            )
            again = _read(live, f"{python} AS OF EPOCH {epoch};", dialect)
            assert sorted(again[0]) == sorted(rows) and again[1] == epoch
    standard.properties["streamsql.view.epoch"] = str(first)
    (((difference, total, count),), epoch) = _read(live, f"{beside};", standard)
    assert (difference, total, count, epoch) == (0, 1_000, transfers.sent, first)
    # A view that is joined with a stream needs its history, which the stores do not have.
    joined = "SELECT t.id FROM $transfers t JOIN $ins i ON t.src = i.id LIMIT 1;"
    assert _read(live, joined, dialect)[1] is None
    dialect.properties["streamsql.view.epoch"] = str(first)
    with pytest.raises(UnsupportedError, match="reads views as they are now"):
        _read(live, joined, dialect)
