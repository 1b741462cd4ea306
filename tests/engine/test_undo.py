"""`Engine.changes.undo` after changes of each class, of tables, joins and streams: plan, state and
results are what they were, and continue."""

from __future__ import annotations

import json

import pytest
from awaiting import await_until
from engine.flow import START_MS, Load, latest
from engine.live import PATIENCE, Live
from engine.shops import BY_CITY, BY_SHOP, SOURCE, apply, as_made_anew, await_read, query_of

from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Message
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

NAMES = "CREATE TABLE ${} (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='${}', {});\n"
FORM = "VALUE_FORMAT='JSON', PARTITIONS=2"
SIDES = NAMES.format("u", "u", FORM) + NAMES.format("w", "w", FORM)
LATEST = (
    "CREATE TABLE $l (k STRING PRIMARY KEY, n INT, v INT)"
    " WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON');\n"
)
JOINED = (
    "CREATE TABLE $t AS SELECT $l.k AS k, $l.n AS n, {0}.name FROM $l JOIN {0} ON $l.k = {0}.k;"
)
WIDER = SOURCE.replace("v INT)", "v INT, extra STRING)")
BY_BATCHES = "SET 'processing.mode' = 'microbatch';\n"
MORE = BY_SHOP.replace("AS total", "AS total, MAX(v) AS most")
BEHIND = BY_SHOP.replace("AS total", "AS total, SUM(v) + 1 AS next")


@pytest.mark.variants
@pytest.mark.parametrize(
    ("sources", "before", "after", "change"),
    [
        (SOURCE, BY_SHOP, SOURCE + BY_BATCHES + BY_SHOP, 1),
        (SOURCE, BY_SHOP, SOURCE + BEHIND, 2),
        (SOURCE, BY_SHOP, SOURCE + MORE, 3),
        (
            SOURCE + SIDES + LATEST,
            JOINED.format("$u"),
            SOURCE + SIDES + LATEST + JOINED.format("$w"),
            4,
        ),
    ],
    ids=["class 1", "class 2", "class 3", "a join"],
)
def test_a_table_is_what_it_was(
    live: Live, kafka: KafkaClient, sources: str, before: str, after: str, change: int
) -> None:
    apply(live, SOURCE)  # whose topic is there for what is over it too
    apply(live, sources)
    if SIDES in sources:
        _name(live, kafka)
    apply(live, sources + before)
    load = Load(kafka, live.name("S"), 300)
    load.produce(700)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    assert any(f"(class {change}," in said for said in apply(live, after))
    load.produce(300)
    await_read(live, kafka, query_id)
    _undo(live, sources + before)
    load.produce(200)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", before)


@pytest.mark.slow
def test_a_column_more_goes_where_nothing_reads_it(live: Live, kafka: KafkaClient) -> None:
    apply(live, SOURCE)
    assert any("(class 1," in said for said in apply(live, WIDER))
    _undo(live, SOURCE)
    apply(live, SOURCE + BY_SHOP)
    apply(live, WIDER + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(300)
    _undo(live, SOURCE + BY_SHOP)
    load.produce(200)
    await_read(live, kafka, query_of(live, "T"))
    as_made_anew(live, kafka, "", BY_SHOP)
    apply(live, WIDER + BY_SHOP)
    live.run("CREATE STREAM $e AS SELECT k, extra FROM $s;")
    with pytest.raises(
        UnsupportedError, match="a later statement changed the catalog: CREATE STREAM"
    ):
        live.engine.changes.undo()
    with pytest.raises(UnsupportedError, match="`EXTRA` STRING is gone"):
        apply(live, SOURCE + BY_SHOP)


@pytest.mark.slow
def test_a_rebuild_by_or_replace_is_undone(live: Live, kafka: KafkaClient) -> None:
    """The statement is one of the shell's, and what it has applied a set like any."""
    live.run(SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(700)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    await_until(lambda: _counted(live, kafka) == 700, "the table", PATIENCE)
    state, rows = _kept(live, query_id), latest(kafka, live.name("T"))
    said = live.texts(BY_CITY.replace("CREATE", "CREATE OR REPLACE"))
    assert said == [f"Created query with ID {query_id}"]
    assert _kept(live, query_id) != state
    assert not rows.keys() & latest(kafka, live.name("T")).keys()
    _undo(live, SOURCE + BY_SHOP)
    assert _kept(live, query_id) == state
    assert latest(kafka, live.name("T")) == rows
    load.produce(200)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_SHOP)
    live.restart()
    load.produce(100)
    await_until(lambda: _counted(live, kafka) == 1_000, "the table to continue", PATIENCE)


def _counted(live: Live, kafka: KafkaClient) -> int:
    return sum(json.loads(row)["C"] for row in latest(kafka, live.name("T")).values())


def _kept(live: Live, query_id: str) -> object:
    """What a query's checkpoint says of its plan and of the layout of its state."""
    folder = live.engine._state.data.checkpoints / query_id
    return json.loads((folder / "state.json").read_text("utf-8"))


FILTERED = "CREATE STREAM $j AS SELECT k, n{0} FROM $s;"
LOOKED_UP = "CREATE STREAM $j AS SELECT $s.k AS k, $s.n AS n{1} FROM $s JOIN {0} ON $s.k = {0}.k;"


@pytest.mark.variants
@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (FILTERED.format(""), FILTERED.format(", v AS other"), 2),
        (LOOKED_UP.format("$u", ""), LOOKED_UP.format("$w", ", $w.name AS other"), 4),
    ],
    ids=["class 2", "a join"],
)
def test_a_stream_continues_as_before(
    live: Live, kafka: KafkaClient, before: str, after: str, change: int
) -> None:
    """What was written stays; each record has a row, by the text of its time."""
    sources = SOURCE + SIDES
    apply(live, sources)
    _name(live, kafka)
    apply(live, sources + before)
    load = Load(kafka, live.name("S"), 300)
    query_id = query_of(live, "J")
    parts = (700, 300, 200)
    load.produce(parts[0])
    await_read(live, kafka, query_id)
    assert any(f"(class {change}," in said for said in apply(live, sources + after))
    load.produce(parts[1])
    await_read(live, kafka, query_id)
    _undo(live, sources + before)
    load.produce(parts[2])
    await_until(lambda: len(_rows(live, kafka)) >= load.count, "all rows", PATIENCE)
    rows = _rows(live, kafka)
    assert sorted(rows) == list(range(load.count))
    assert {n for n, row in rows.items() if row.get("OTHER") is not None} == set(
        range(parts[0], parts[0] + parts[1])
    )


def _rows(live: Live, kafka: KafkaClient) -> dict[int, dict[str, object]]:
    """By number; each once."""
    topic = live.name("J")
    found = [
        json.loads(r.value or b"{}") for r in kafka.consume(topic, until=kafka.end_offsets(topic))
    ]
    rows = {row["N"]: row for row in found}
    assert len(rows) == len(found)
    return rows


def _name(live: Live, kafka: KafkaClient) -> None:
    """Each key has a row in both tables, from before the first record."""
    for topic in "UW":
        names = (
            NewRecord(
                f"k{n}".encode(), b'{"NAME":"of %s"}' % topic.encode(), timestamp=START_MS - 1
            )
            for n in range(5)
        )
        kafka.produce(live.name(topic), names)


def _undo(live: Live, files: str) -> None:
    """After it there is nothing to do for previous definitions."""
    assert [r for r in live.engine.changes.undo() if isinstance(r, Message)]
    planned = live.engine.changes.plan([NamedText("f.sql", live.sql(files))])
    assert (planned.exit_code, planned.changes) == (0, ())
