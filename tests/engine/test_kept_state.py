"""`Engine.changes.apply` of changes of class 3 whose state is rewritten: the log is not read again,
and may be gone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from awaiting import await_until
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from engine.flow import START_MS, Arrivals, Load, latest
from engine.live import PATIENCE, Live
from engine.shops import SOURCE, apply, await_read, query_of

from streamsql.engine import QueryState
from streamsql.errors import ExternalError
from streamsql.executor.queries.checkpoint import adopt, committed, rebuilt
from streamsql.executor.queries.start import checkpointed_shuffle_partitions
from streamsql.executor.rebuilds import settling
from streamsql.executor.rebuilds.rewriting import Rewrite
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.statements.changes import rebuilding

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

KEPT = (
    "COUNT(*) AS c, SUM(v + 2) AS other, MAX(n) AS most, COLLECT_SET(v) AS found, "
    "SUM(CAST(v AS DECIMAL(20, 2))) AS money"
)
DROPPED = "SUM(v + 1) AS total, AVG(v + 2) AS mean, LATEST_BY_OFFSET(city, 3) AS cities, "
TABLE = "CREATE TABLE $t AS SELECT shop, {} FROM $s GROUP BY shop;"
BEFORE, AFTER = TABLE.format(DROPPED + KEPT), TABLE.format(KEPT)
WINDOW = "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP"
SOON = "SET 'processing.commit.interval.ms' = '5000';"
"""The commits of a query in real time."""
EXACTLY_ONCE = f"{SOON}SET 'processing.guarantee' = 'exactly_once';"
MICROBATCH = "SET 'processing.mode' = 'microbatch';"
REWRITTEN = "Table T_ changed (class 3, its state is migrated; continues from its checkpoint)"


def folder_of(live: Live, query_id: str) -> Path:
    folder = live.engine._state.data.checkpoints / query_id
    assert isinstance(folder, Path)
    return folder


def forget_the_log(live: Live, kafka: KafkaClient, *query_ids: str) -> None:
    """Have nothing of what was produced so far be in the topic, once these have committed it."""
    topic = live.name("S")
    ends = kafka.end_offsets(topic)
    folders = [folder_of(live, query_id) for query_id in query_ids]

    def have_committed() -> bool:
        return all((committed(folder) or {}).get(topic) == ends for folder in folders)

    await_until(have_committed, "commits", PATIENCE)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    cut = [TopicPartition(topic, p, end) for p, end in ends.items()]
    for deleted in admin.delete_records(cut).values():
        deleted.result()


def rows_of(kafka: KafkaClient, topic: str) -> dict[bytes, dict[str, object]]:
    return {key: json.loads(value) for key, value in latest(kafka, topic).items()}


def differing(live: Live, kafka: KafkaClient) -> list[object]:
    """Where the table has not what the same statement has that has run all the time: of a set the
    order may be another one, as two partitions are read at a time."""
    table, other = rows_of(kafka, live.name("T")), rows_of(kafka, live.name("ANEW"))
    return [
        (key, table.get(key), other.get(key))
        for key in table.keys() | other.keys()
        if not _has(table.get(key, {}), other.get(key, {"C": None}))
    ]


def await_same(live: Live, kafka: KafkaClient) -> None:
    """Wait until nothing differs."""
    found: list[object] = ["Kafka has not answered"]

    def same() -> bool:
        with suppress(ExternalError):  # It may have been started again just now.
            found[:] = differing(live, kafka)
        return not found

    try:
        await_until(same, "the same rows", PATIENCE, every=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}: {found}") from None


def _has(row: dict[str, object], wanted: dict[str, object]) -> bool:
    return all(_in_order(row.get(name)) == _in_order(value) for name, value in wanted.items())


def _in_order(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value


def begun(live: Live, kafka: KafkaClient, sql: str, records: int) -> tuple[str, str, Load]:
    """The queries of the two tables, which have read that many records that the log no longer has,
    and what more come from."""
    apply(live, sql)
    ids = query_of(live, "T"), query_of(live, "ANEW")
    load = Load(kafka, live.name("S"), 300)
    load.produce(records)
    for query_id in ids:
        await_read(live, kafka, query_id)
    forget_the_log(live, kafka, *ids)
    return (*ids, load)


@pytest.mark.variants
@pytest.mark.parametrize(
    ("settings", "window"),
    [(SOON, "GROUP"), (SOON, WINDOW), (EXACTLY_ONCE, "GROUP"), (MICROBATCH, "GROUP")],
    ids=["real time", "in windows", "exactly once", "micro-batches"],
)
def test_an_aggregate_goes_and_the_others_stay(
    live: Live,
    kafka: KafkaClient,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    window: str,
) -> None:
    before, after = (sql.replace("GROUP", window) for sql in (BEFORE, AFTER))
    anew = after.replace("$t", "$anew")
    query_id, other, load = begun(live, kafka, SOURCE + settings + before + anew, 5_000)
    arrivals = Arrivals(kafka, live.name("T"))
    with load.running(), arrivals.noted():
        await_until(lambda: len(arrivals.times) > 0, "rows", PATIENCE)
        live.await_state(query_id, QueryState.RUNNING)
        time.sleep(3)
        began = time.monotonic()
        (said,) = apply(live, SOURCE + settings + after + anew)
        ended = time.monotonic()
        await_until(lambda: arrivals.times[-1] > ended, "rows", PATIENCE)
        gap = arrivals.gap(began, time.monotonic())
    with capsys.disabled():
        print(f"\n{ended - began:.1f} s of apply, {gap:.2f} s without a row")
    assert said == REWRITTEN
    live.restart()
    load.produce(1_000)
    for each in (query_id, other):
        await_read(live, kafka, each)
    await_same(live, kafka)


def partitions_of(live: Live, query_id: str) -> int | None:
    return checkpointed_shuffle_partitions(folder_of(live, query_id))


@pytest.mark.slow
@pytest.mark.parametrize("window", ["GROUP", WINDOW], ids=["", "in windows"])
def test_state_moves_to_other_partitions(live: Live, kafka: KafkaClient, window: str) -> None:
    """More by ALTER QUERY, fewer by what files say, with an aggregate less at that."""
    before, after = (sql.replace("GROUP", window) for sql in (BEFORE, AFTER))
    query_id, other, load = begun(
        live, kafka, SOURCE + SOON + before + after.replace("$t", "$anew"), 5_000
    )
    said = live.texts(f"ALTER QUERY {query_id} SET ('streamsql.shuffle.partitions' = 5);")
    assert said == [f"Query {query_id} altered."]
    assert partitions_of(live, query_id) == 5
    load.produce(1_000)
    await_read(live, kafka, query_id)
    await_same(live, kafka)
    fewer = "SET 'streamsql.shuffle.partitions' = '3';"
    assert apply(live, SOURCE + SOON + fewer + after) == [REWRITTEN]
    assert partitions_of(live, query_id) == 3
    live.restart()
    load.produce(1_000)
    for each in (query_id, other):
        await_read(live, kafka, each)
    await_same(live, kafka)


IN_SESSIONS = (
    "CREATE TABLE {} AS SELECT shop, COUNT(*) AS c, SUM(v) AS total FROM $s "
    "WINDOW SESSION (1 DAY, GRACE PERIOD 1 DAY) GROUP BY shop;"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "table"),
    [(SOON, IN_SESSIONS), (EXACTLY_ONCE, IN_SESSIONS)],
    ids=["at least once", "exactly once"],
)
def test_state_of_operators_moves_to_other_partitions(
    live: Live, kafka: KafkaClient, settings: str, table: str
) -> None:
    query_id, other, load = begun(
        live, kafka, SOURCE + settings + table.format("$t") + table.format("$anew"), 2_000
    )
    said = live.texts(f"ALTER QUERY {query_id} SET ('streamsql.shuffle.partitions' = 3);")
    assert said == [f"Query {query_id} altered."]
    assert partitions_of(live, query_id) == 3
    load.produce(1_000)
    for each in (query_id, other):
        await_read(live, kafka, each)
    await_same(live, kafka)


JOINED = {
    "with a table": "FROM $s JOIN $u ON $s.k = $u.k",
    "of streams": "FROM $s JOIN $v WITHIN 1 DAY GRACE PERIOD 1 DAY ON $s.k = $v.k",
}


@pytest.mark.slow
@pytest.mark.parametrize("join", JOINED.values(), ids=JOINED)
def test_rows_of_joins_move_to_other_partitions(live: Live, kafka: KafkaClient, join: str) -> None:
    """What is joined was read before they moved, and is not read again: no warning says so."""
    form = "WITH (KAFKA_TOPIC='${0}', VALUE_FORMAT='JSON', PARTITIONS=2);"
    others = "CREATE TABLE ${0} (k STRING PRIMARY KEY, name STRING) " + form
    events = "CREATE STREAM ${0} (k STRING KEY, name STRING) " + form
    apply(live, SOURCE + others.format("u") + events.format("v"))
    for name in ("U", "V"):  # from before the first record
        names = (
            NewRecord(f"k{n}".encode(), b'{"NAME":"x"}', timestamp=START_MS - 1) for n in range(5)
        )
        kafka.produce(live.name(name), names)
    other = "$u" if "$u" in join else "$v"
    live.run(f"CREATE STREAM $j AS SELECT $s.k AS k, $s.n AS n, {other}.name AS name {join};")
    query_id = query_of(live, "J")
    load = Load(kafka, live.name("S"), 300)
    load.produce(500)
    await_read(live, kafka, query_id)
    said = live.texts(f"ALTER QUERY {query_id} SET ('streamsql.shuffle.partitions' = 3);")
    assert said == [f"Query {query_id} altered."]
    assert partitions_of(live, query_id) == 3
    load.produce(100)

    def numbers() -> set[int]:
        topic = live.name("J")
        records = kafka.consume(topic, until=kafka.end_offsets(topic))
        rows = [json.loads(record.value or b"{}") for record in records]
        return {row["N"] for row in rows if row["NAME"] == "x"}

    await_until(lambda: numbers() == set(range(600)), "a row of each record", PATIENCE, every=0.5)


class Killed(KeyboardInterrupt):
    """As the end of the process, as far as what is on the disk and in Kafka goes."""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["begin", "finish", "hand_over"])
def test_what_fails_before_the_entry_has_not_happened(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    query_id, other, load = begun(
        live, kafka, SOURCE + SOON + BEFORE + BEFORE.replace("$t", "$anew"), 1_000
    )
    length = live.engine.inspection.sequence
    real: Callable[..., None] = getattr(Rewrite, place)

    def done_and_killed(rewrite: Rewrite, *arguments: object) -> None:
        real(rewrite, *arguments)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Rewrite, place, done_and_killed)
        with pytest.raises(Killed):
            apply(live, SOURCE + SOON + AFTER)
    assert live.engine.inspection.sequence == length
    load.produce(1_000)
    for each in (query_id, other):
        await_read(live, kafka, each)
    await_same(live, kafka)


def test_what_is_left_after_the_entry_is_finished_by_the_next_start(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query_id, other, load = begun(
        live, kafka, SOURCE + SOON + BEFORE + AFTER.replace("$t", "$anew"), 1_000
    )
    folder = folder_of(live, query_id)
    monkeypatch.setattr(rebuilding, "SETTLE_SECONDS", 1.0)
    with monkeypatch.context() as patched:
        patched.setattr(settling, "adopt", adopted_or_killed)
        apply(live, SOURCE + SOON + AFTER)
        live.engine.close()
    assert rebuilt(folder).exists()
    live.restart()
    load.produce(1_000)
    for each in (query_id, other):
        await_read(live, kafka, each)
    await_same(live, kafka)
    assert not rebuilt(folder).exists()


def adopted_or_killed(checkpoint: Path, generation: int) -> None:
    """What was handed over is not put in its place."""
    owner = rebuilt(checkpoint) / "streamsql.json"
    if owner.exists() and json.loads(owner.read_text())["generation"] == generation:
        raise RuntimeError("killed")
    adopt(checkpoint, generation)
