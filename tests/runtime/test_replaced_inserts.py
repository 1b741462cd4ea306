"""An INSERT INTO .. SELECT that takes the place of another, as `apply` logs it: one query, which a
replay, an export and a file that is run again know by its new text alone."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Catalog
from streamsql.log.entries import Entry, decode, encode
from streamsql.parser import canonical, parse_one
from streamsql.planner.processing_log import declare
from streamsql.runtime.export import catalog_script
from streamsql.runtime.history import History
from streamsql.runtime.replay import Replay

STREAM = (
    "CREATE STREAM {0} (k INT KEY, x INT)"
    " WITH (KAFKA_TOPIC = '{0}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
)
INSERT = "INSERT INTO b SELECT k, x + {0} AS x FROM a EMIT CHANGES;"
MADE = [
    Entry(1, STREAM.format("a")),
    Entry(2, STREAM.format("b")),
    Entry(3, INSERT.format(1), query_id="INSERTQUERY_2", offsets={"a": {"0": 7}}),
    Entry(4, INSERT.format(5), query_id="INSERTQUERY_3"),
    Entry(5, "PAUSE INSERTQUERY_2;"),
]
PART = Entry(6, INSERT.format(2), query_id="INSERTQUERY_2", offsets={"a": {"0": 7}}, replaces=True)
ENTRIES = [*MADE, replace(PART, parts=(PART,), query_id=None, replaces=False)]


def _folded() -> Replay:
    replay = Replay(Catalog())
    declare(replay.catalog)
    for entry in (decode(encode(entry), "it") for entry in ENTRIES):
        for statement in entry.statements:
            replay.add(statement)
    return replay


def test_it_is_the_same_query_with_another_text() -> None:
    queries = _folded().queries
    assert list(queries) == ["INSERTQUERY_2", "INSERTQUERY_3"]
    known = queries["INSERTQUERY_2"]
    assert known.paused and known.definition.sql == INSERT.format(2)
    assert known.definition.generation == 3
    assert known.definition.starting_offsets == {"a": {"0": 7}}


def test_an_export_has_it_once() -> None:
    script = catalog_script(ENTRIES)
    assert script.count("INSERT INTO") == 2
    assert "`X` + 2" in script.upper() or "X + 2" in script.upper()
    assert "X + 1" not in script.upper()


def test_a_file_finds_the_new_text_and_not_the_old_one() -> None:
    history = History.of(ENTRIES)
    was, now = (("insert", canonical(parse_one(INSERT.format(n)))) for n in (1, 2))
    assert now in history.born and was not in history.born
    assert [event.entry.sequence for event in history.living(now)] == [6]
    assert history.living(was) == []
    assert history.events[was][-1].entry.sequence == 6
