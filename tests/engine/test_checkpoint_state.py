"""A query continues from state of the layout in its checkpoint, or reads no record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine.live import Live, Restartable

from streamsql.engine import QueryState
from streamsql.executor.lowering import streaming
from streamsql.planner.plans.needs import needed_columns
from streamsql.version import VERSION

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TABLES = (
    "SET 'processing.mode' = 'microbatch';"
    "CREATE TABLE $a (id INT PRIMARY KEY, x INT, y STRING, z INT)"
    " WITH (kafka_topic='$a', format='json', partitions=1);"
    "CREATE TABLE $b (id INT PRIMARY KEY, v INT)"
    " WITH (kafka_topic='$b', format='json', partitions=1);"
)


class Checkpoint:
    """What the checkpoint of a test's only query says, and how to change it while it is paused."""

    def __init__(self, live: Live, folder: Path) -> None:
        (self.query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
        self.live = live
        live.await_lag(self.query, 0)  # Its batches are committed.
        self.file = folder / "checkpoints" / self.query / "state.json"

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found

    def refuses(self, change: Callable[[dict[str, Any]], None]) -> str:
        """The error of a query that continues from a checkpoint that was changed."""
        content = self.content
        self.live.run(f"PAUSE {self.query};")
        changed = json.loads(json.dumps(content))
        change(changed)
        self.file.write_text(json.dumps(changed))
        self.live.run(f"RESUME {self.query};")
        self.live.await_state(self.query, QueryState.ERROR)
        error = self.live.query(self.query).error or ""
        self.live.run(f"PAUSE {self.query};")
        self.file.write_text(json.dumps(content))
        return error


def names(store: dict[str, Any]) -> set[str]:
    """The columns of a store's rows, without the table's name."""
    return {name.split(".")[-1] for name, _ in store["columns"]}


@pytest.fixture
def folder(restartable: Restartable) -> Path:
    assert restartable.config.data_dir is not None
    return restartable.config.data_dir


def test_state_of_another_layout_is_not_read(live: Live, folder: Path) -> None:
    live.run(TABLES)
    live.run("CREATE TABLE $j AS SELECT $a.id, x, v FROM $a JOIN $b ON $a.id = $b.id;")
    live.run("INSERT INTO $a VALUES (1, 10, 'y', 0); INSERT INTO $b VALUES (1, 5);")
    live.table("j", lambda rows: rows == {1: (10, 5)})
    checkpoint = Checkpoint(live, folder)
    content = checkpoint.content
    assert (content["format"], content["engine"]) == (1, VERSION)
    left, right = content["stores"]
    assert "X" in names(left) and "Z" not in names(left)
    assert "V" in names(right)

    def widen(content: dict[str, Any]) -> None:
        (x,) = (c for c in content["stores"][0]["columns"] if c[0].endswith(".X"))
        x[1] = "bigint"

    error = checkpoint.refuses(widen)
    assert "JOIN INNER table-table ON" in error and ".X bigint, not int" in error
    assert "DROP" in error
    error = checkpoint.refuses(lambda c: c.update(format=7, engine="9.0"))
    assert "written by streamsql 9.0 in format 7" in error
    # One of an earlier version says nothing, and is taken as it is.
    checkpoint.file.unlink()
    live.run(f"RESUME {checkpoint.query}; INSERT INTO $b VALUES (1, 6);")
    live.table("j", lambda rows: rows == {1: (10, 6)})
    assert checkpoint.content == content


def test_what_rules_prune_does_not_change_the_state(
    live: Live, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_columns = frozenset(live.name(f"{t}") + f".{c}" for t in "AB" for c in "XYZV")

    def as_before(root: Any, above: frozenset[str] = frozenset()) -> dict[int, frozenset[str]]:
        """Rules of another version, which leave more columns."""
        return needed_columns(root, above | all_columns)

    monkeypatch.setattr(streaming, "needed_columns", as_before)
    live.run(TABLES)
    live.run("CREATE TABLE $j AS SELECT $a.id, z, v FROM $a JOIN $b ON $a.id = $b.id;")
    live.run("INSERT INTO $a VALUES (1, 10, 'y', 7); INSERT INTO $b VALUES (1, 5);")
    live.table("j", lambda rows: rows == {1: (7, 5)})
    checkpoint = Checkpoint(live, folder)
    kept = checkpoint.content["stores"]
    assert {"X", "Y", "Z"} <= names(kept[0])
    live.run(f"PAUSE {checkpoint.query};")
    monkeypatch.undo()
    live.run(f"RESUME {checkpoint.query}; INSERT INTO $b VALUES (1, 6);")
    live.table("j", lambda rows: rows == {1: (7, 6)})
    assert checkpoint.content["stores"] == kept


def test_an_aggregate_that_no_client_reads_is_kept(live: Live, folder: Path) -> None:
    live.run(
        "SET 'processing.mode' = 'microbatch';"
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
        "CREATE TABLE $n AS WITH g AS (SELECT k, COUNT(*) AS c, SUM(v) AS t FROM $s GROUP BY k)"
        " SELECT k, c FROM g;"
        "INSERT INTO $s VALUES ('a', 3);"
    )
    live.table("n", lambda rows: rows == {"a": (1,)})
    checkpoint = Checkpoint(live, folder)
    (store,) = checkpoint.content["stores"]
    assert store["encoding"] == 1 and len(store["columns"]) == 2
    spark: Any = live.engine._state.services.current_spark()
    state = spark.read.format("statestore").load(str(checkpoint.file.parent))
    # The time of the group's newest record, and both aggregates.
    assert len(state.schema["value"].dataType.fields) == 3
