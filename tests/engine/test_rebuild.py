"""`Engine.changes.apply` of changes that are rebuilt from the log: beside the query that runs,
and switched while records come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from awaiting import await_until
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from engine.flow import START_MS, Arrivals, Load, latest
from engine.live import PATIENCE, Live
from engine.shops import BY_CITY, BY_SHOP, SOURCE, apply, as_made_anew, await_read, query_of

from streamsql.config import REBUILD_TOPIC_PREFIX
from streamsql.engine import QueryState
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.executor.queries.checkpoint import committed, rebuilt
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Answer, Message
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

IN_WINDOWS = BY_SHOP.replace("GROUP", "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP")
WIDER = IN_WINDOWS.replace("10 SECONDS", "15 SECONDS")
SOON = "SET 'processing.commit.interval.ms' = '5000';"
EXACTLY_ONCE = "SET 'processing.guarantee' = 'exactly_once';"
GAP = 10.0
"""Seconds without a row that are allowed at a switch on a machine that does other things too."""


@pytest.mark.variants
@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ("", BY_SHOP, BY_CITY),
        ("", IN_WINDOWS, WIDER),
        (EXACTLY_ONCE, BY_SHOP, BY_CITY),
        ("SET 'processing.mode' = 'microbatch';", BY_SHOP, BY_SHOP.replace("SUM(v)", "MAX(v)")),
    ],
    ids=["by another key", "in other windows", "exactly once", "another aggregate"],
)
def test_a_table_switches_while_records_come(
    live: Live,
    kafka: KafkaClient,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    before: str,
    after: str,
) -> None:
    assert apply(live, SOURCE + settings + before) == ["Stream S_ created", "Table T_ created"]
    query_id = query_of(live, "T")
    load = Load(kafka, live.name("S"), 300)
    load.produce(5_000)
    await_read(live, kafka, query_id)
    arrivals = Arrivals(kafka, live.name("T"))
    with load.running(), arrivals.noted():
        await_until(lambda: len(arrivals.times) > 0, "rows", PATIENCE)
        live.await_state(query_id, QueryState.RUNNING)
        time.sleep(3)
        old = latest(kafka, live.name("T"))
        began = time.monotonic()
        (said,) = apply(live, SOURCE + settings + after)
        ended = time.monotonic()
        await_until(lambda: arrivals.times[-1] > ended, "rows", PATIENCE)
        time.sleep(5)
        gap = arrivals.gap(began, time.monotonic() - 1)
    with capsys.disabled():
        print(f"\n{ended - began:.1f} s of apply, {gap:.2f} s without a row")
    assert said.startswith("Table T_ changed (class") and "rebuilt from the log" in said
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, settings, after)
    if after == BY_CITY:
        assert not old.keys() & latest(kafka, live.name("T")).keys()
    assert not [t for t in kafka.topics() if t.startswith(REBUILD_TOPIC_PREFIX)]
    assert gap < GAP


def rows_of(kafka: KafkaClient, topic: str) -> list[dict[str, object]]:
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    return [json.loads(record.value or b"{}") for record in records]


@pytest.mark.slow
def test_a_stream_switches_between_two_records(
    live: Live, kafka: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each record has its row by the old text or by the new one, in that order, and no other."""
    table = "CREATE TABLE ${0} (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='${0}', {1});"
    form = "VALUE_FORMAT='JSON', PARTITIONS=2"
    sources = SOURCE + table.format("u", form) + table.format("w", form)
    join = (
        "CREATE STREAM $j AS SELECT $s.k AS k, $s.n AS n, $u.name AS name{} "
        "FROM $s JOIN $u ON $s.k = $u.k{};"
    )
    before = join.format("", "")
    after = join.format(", $w.name AS other", " JOIN $w ON $s.k = $w.k WHERE $s.v > 10")
    apply(live, sources)
    for name in ("U", "W"):  # from before the first record
        names = (
            NewRecord(f"k{n}".encode(), b'{"NAME":"x"}', timestamp=START_MS - 1) for n in range(5)
        )
        kafka.produce(live.name(name), names)
    apply(live, sources + EXACTLY_ONCE + before)
    query_id = query_of(live, "J")
    load = Load(kafka, live.name("S"), 300)
    load.produce(2_000)
    await_read(live, kafka, query_id)
    arrivals = Arrivals(kafka, live.name("J"))
    with load.running(), arrivals.noted():
        live.await_state(query_id, QueryState.RUNNING)
        time.sleep(3)
        began = time.monotonic()
        apply(live, sources + EXACTLY_ONCE + after)
        ended = time.monotonic()
        await_until(lambda: arrivals.times[-1] > ended, "rows", PATIENCE)
        time.sleep(3)
        gap = arrivals.gap(began, time.monotonic() - 1)
    with capsys.disabled():
        print(f"\n{ended - began:.1f} s of apply, {gap:.2f} s without a row")
    wanted = {n for n in range(load.count) if n * 7 % 100 > 10}

    def has_all() -> bool:
        return wanted <= {int(str(row["N"])) for row in rows_of(kafka, live.name("J"))}

    await_until(has_all, "all rows", PATIENCE)
    rows = rows_of(kafka, live.name("J"))
    by_old = sorted(int(str(row["N"])) for row in rows if "OTHER" not in row)
    by_new = sorted(int(str(row["N"])) for row in rows if "OTHER" in row)
    assert by_old and by_new
    # A key is in one partition: each has a record at which the new text begins.
    for key in range(5):
        first = min(n for n in by_new if n % 5 == key)
        last = max(n for n in by_old if n % 5 == key)
        assert last < first
        assert [n for n in by_old if n % 5 == key] == list(range(key, last + 1, 5))
        due = [n for n in range(last + 5, load.count, 5) if n * 7 % 100 > 10]
        assert [n for n in by_new if n % 5 == key] == due
    assert gap < GAP


class Killed(KeyboardInterrupt):
    """As the end of the process, as far as what is on the disk and in Kafka goes."""


def await_pulled(live: Live, sql: str, rows: list[tuple[object, ...]]) -> None:
    """Wait until a pull query gives these rows."""

    def are_there() -> bool:
        try:
            (answer,) = live.run(sql)
            assert isinstance(answer, Answer)
            return [row.values for row in answer.rows] == rows
        except StreamSQLError:
            return False

    await_until(are_there, f"{sql} to give {rows}", PATIENCE)


@pytest.mark.slow
def test_what_was_switched_is_taken_back(live: Live, kafka: KafkaClient) -> None:
    """With a key of another type; who looks keys up sees the table as it is then."""
    apply(live, SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(700)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    await_pulled(live, "SELECT c FROM $t WHERE shop = 'shop 1';", [(100,)])
    by_v = "CREATE TABLE $t AS SELECT v, COUNT(*) AS c FROM $s GROUP BY v;"
    apply(live, SOURCE + by_v)
    await_pulled(live, "SELECT c FROM $t WHERE v = 7;", [(7,)])
    load.produce(300)
    await_read(live, kafka, query_id)
    await_pulled(live, "SELECT c FROM $t WHERE v = 7;", [(10,)])
    said = [r.text for r in live.engine.changes.undo() if isinstance(r, Message)]
    assert said == [f"Table {live.name('T')} changed (class 4, rebuilt from the log)"]
    load.produce(500)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_SHOP)
    live.restart()
    load.produce(100)
    await_read(live, kafka, query_id)
    await_until(
        lambda: sum(json.loads(v)["C"] for v in latest(kafka, live.name("T")).values()) == 1_600,
        "the table to continue",
        PATIENCE,
    )


@pytest.mark.slow
def test_what_the_log_has_no_more_is_not_thrown_away(live: Live, kafka: KafkaClient) -> None:
    apply(live, SOURCE + SOON + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(500)
    query_id, topic = query_of(live, "T"), live.name("S")
    await_read(live, kafka, query_id)
    ends = kafka.end_offsets(topic)
    folder = live.engine._state.data.checkpoints / query_id
    # What no batch has committed yet would be read again where the query is not stopped in order.
    await_until(lambda: (committed(folder) or {}).get(topic) == ends, "a commit", PATIENCE)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    cut = [TopicPartition(topic, p, end // 2) for p, end in ends.items()]
    for deleted in admin.delete_records(cut).values():
        deleted.result()
    length = live.engine.inspection.sequence
    planned = live.engine.changes.plan([NamedText("f.sql", live.sql(SOURCE + SOON + BY_CITY))])
    (table,) = planned.changes
    assert table.lost == tuple(
        f"{topic}, partition {p}, offsets 0 to {end // 2 - 1}" for p, end in sorted(ends.items())
    )
    assert table.records == sum(end - end // 2 for end in ends.values())
    assert table.bytes is not None and table.bytes > 20 * table.records
    with pytest.raises(UnsupportedError, match="before offset .* have been deleted"):
        apply(live, SOURCE + SOON + BY_CITY)
    assert live.engine.inspection.sequence == length
    apply(live, SOURCE + SOON + BY_CITY, from_what_is_left=True)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_CITY)


def killed(*_: object, **__: object) -> None:
    raise Killed


def owner_of(checkpoint: Path) -> str:
    file = checkpoint / "streamsql.json"
    return file.read_text() if file.exists() else ""


@pytest.mark.variants
@pytest.mark.parametrize("place", ["correction", "settled", "adopted"])
def test_what_is_left_after_the_entry_is_finished_by_the_next_start(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    apply(live, SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(1_000)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    from streamsql.executor.rebuilds import settling
    from streamsql.executor.rebuilds.settling import SettlingLauncher
    from streamsql.statements.changes import rebuilding

    monkeypatch.setattr(rebuilding, "SETTLE_SECONDS", 1.0)
    with monkeypatch.context() as patched:
        correct: Callable[..., None] = SettlingLauncher._correct

        def corrected_and_killed(*arguments: object) -> None:
            correct(*arguments)
            raise RuntimeError("killed")

        def failed(*_: object) -> None:
            raise RuntimeError("killed")

        if place == "correction":
            patched.setattr(SettlingLauncher, "_correct", failed)
        elif place == "settled":
            patched.setattr(SettlingLauncher, "_correct", corrected_and_killed)
        else:
            adopt = settling.adopt

            def adopted_or_killed(checkpoint: Path, generation: int) -> None:
                if f'"generation": {generation}' in owner_of(rebuilt(checkpoint)):
                    raise RuntimeError("killed")
                adopt(checkpoint, generation)

            patched.setattr(settling, "adopt", adopted_or_killed)
        apply(live, SOURCE + BY_CITY)
        live.engine.close()
    live.restart()
    load.produce(1_000)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_CITY)
    assert not [t for t in kafka.topics() if t.startswith(REBUILD_TOPIC_PREFIX)]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["begin", "finish"])
def test_what_fails_before_the_entry_has_not_happened(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    apply(live, SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(1_000)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    from streamsql.executor.rebuilds.building import Rebuild

    length = live.engine.inspection.sequence
    with monkeypatch.context() as patched:
        patched.setattr(Rebuild, place, killed)
        with pytest.raises(Killed):
            apply(live, SOURCE + BY_CITY)
    assert live.engine.inspection.sequence == length
    assert not [t for t in kafka.topics() if t.startswith(REBUILD_TOPIC_PREFIX)]
    load.produce(1_000)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_SHOP)
