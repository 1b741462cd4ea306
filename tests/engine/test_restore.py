"""What a start makes of the statement log, without Kafka and Spark: above all, which checkpoints it
leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.catalog import Catalog
from streamsql.errors import InternalError
from streamsql.executor.queries.checkpoint import claim
from streamsql.log.entries import Entry, FileLog
from streamsql.run_script import NamedText
from streamsql.runtime import replay as folding
from streamsql.runtime.replay import Replay
from streamsql.statements.files.resume import left_in

STREAM = (
    "CREATE STREAM {0} (x INT) WITH (KAFKA_TOPIC = '{0}', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)
FILL = "INSERT INTO b WITH (QUERY_ID = 'fill') SELECT x FROM a;"
AGAIN = "INSERT INTO b WITH (QUERY_ID = 'fill') SELECT x + 1 AS x FROM a;"
HISTORY = [
    STREAM.format("a"),
    STREAM.format("b"),
    FILL,
    "TERMINATE FILL;",
    AGAIN,
    "PAUSE FILL;",
    "DEFINE x = '1';",
    "SET 'auto.offset.reset' = 'latest';",
]


def entries(*statements: str) -> list[Entry]:
    ids = ("FILL" if sql in (FILL, AGAIN) else None for sql in statements)
    return [
        Entry(number, sql, query_id=query_id)
        for number, (sql, query_id) in enumerate(zip(statements, ids, strict=True), 1)
    ]


def log(folder: Path, *statements: str) -> None:
    file = FileLog(folder / "statements.log")
    for entry in entries(*statements):
        file.append(entry)
    file.close()


def checkpoint(folder: Path, name: str, generation: int | None) -> Path:
    """A checkpoint with something in it; generation None: as earlier versions made them."""
    path = folder / "checkpoints" / name
    if generation is not None:
        claim(path, generation)
    (path / "offsets").mkdir(parents=True)
    (path / "offsets" / "0").write_text("v1")
    return path / "offsets" / "0"


@pytest.mark.parametrize("generation", [5, None])
def test_a_checkpoint_of_an_id_used_again_is_kept(tmp_path: Path, generation: int | None) -> None:
    log(tmp_path, *HISTORY)
    kept = checkpoint(tmp_path, "FILL", generation)
    with Offline(tmp_path) as engine:
        (query,) = engine.state.queries.infos()
        assert "x + 1" in query.sql
    assert kept.exists()


def test_a_checkpoint_of_an_id_dropped_with_its_stream_is_kept(tmp_path: Path) -> None:
    history = (*HISTORY[:3], "DROP STREAM b CASCADE;", STREAM.format("b"), AGAIN)
    log(tmp_path, *history)
    kept = checkpoint(tmp_path, "FILL", 6)
    with Offline(tmp_path):
        assert kept.exists()


def test_unowned_checkpoints_are_removed(tmp_path: Path) -> None:
    log(tmp_path, *HISTORY)
    # A crash between the log's TERMINATE and the end of it has left the first one's.
    old, unknown = checkpoint(tmp_path, "FILL", 3), checkpoint(tmp_path, "CSAS_X_7", 7)
    with Offline(tmp_path):
        assert not old.exists() and not unknown.exists()


def test_a_start_that_fails_changes_nothing(tmp_path: Path) -> None:
    log(tmp_path, *HISTORY[:3], "DROP STREAM nothing;")
    kept, unknown = checkpoint(tmp_path, "FILL", 3), checkpoint(tmp_path, "CSAS_X_7", 7)
    with pytest.raises(InternalError, match="cannot replay entry 4"):
        Offline(tmp_path)
    assert kept.exists() and unknown.exists()


def test_a_log_is_folded_without_an_engine() -> None:
    replay = Replay(Catalog())
    for entry in entries(*HISTORY):
        replay.add(entry)
    assert list(replay.catalog.sources) == ["A", "B"]
    assert (replay.variables, replay.properties) == ({"X": "1"}, {"auto.offset.reset": "latest"})
    (query,) = replay.queries.values()
    assert query.paused and query.definition.generation == 5
    assert query.definition.sql == AGAIN


def test_a_replaced_query_is_of_the_same_generation() -> None:
    replay = Replay(Catalog())
    history = (
        HISTORY[0],
        "CREATE STREAM c AS SELECT x FROM a;",
        "PAUSE CSAS_C_0;",
        "CREATE OR REPLACE STREAM c AS SELECT x FROM a WHERE x > 1;",
    )
    for entry in entries(*history):
        replay.add(entry)
    (query,) = replay.queries.values()
    assert query.definition.generation == 2 and "WHERE" in query.definition.sql
    assert query.paused


def test_a_file_that_is_run_at_the_start_needs_no_second_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path, *HISTORY, "INSERT INTO a (x) VALUES (1);")
    file = [NamedText("f.sql", f"{HISTORY[0]}\nINSERT INTO a (x) VALUES (1);\n{AGAIN}")]
    folded = []

    def counting(entry: Entry, catalog: Catalog) -> object:
        folded.append(entry.sequence)
        return plan_again(entry, catalog)

    plan_again = folding.plan_again
    monkeypatch.setattr(folding, "plan_again", counting)
    with Offline(tmp_path) as engine:
        first = left_in(engine.state, engine.state.log, file, {})
        assert folded == list(range(1, len(HISTORY) + 1))
        assert first.passed == {0, 1, 2}
        assert left_in(engine.state, engine.state.log, file, {}).passed == first.passed


def test_a_file_that_is_run_later_learns_what_came_after_the_start(tmp_path: Path) -> None:
    log(tmp_path, HISTORY[0])
    with Offline(tmp_path) as engine:
        engine.run("CREATE TYPE p AS STRUCT<a INT>;")
        file = [NamedText("f.sql", "CREATE TYPE p AS STRUCT<a INT>;")]
        assert left_in(engine.state, engine.state.log, file, {}).passed == {0}
