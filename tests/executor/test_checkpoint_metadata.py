"""What a checkpoint says of its state, and what an engine makes of it, without Spark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from streamsql.errors import ExternalError, UnsupportedError
from streamsql.executor.frames.layouts import Layouts, StoreLayout, names_of
from streamsql.executor.queries.checkpoint_metadata import CheckpointMetadata, read, settle

JOIN = StoreLayout(
    "joins.TableTableJoin",
    "JOIN INNER table-table ON A.ID = B.ID, left rows",
    (("key", "int"),),
    (("A.X", "bigint"), ("A.Y", "string")),
)
GROUPS = StoreLayout("GROUP BY", "GROUP BY K", (("K", "string"),), (("COUNT(*)", "BIGINT"),))
MADE = CheckpointMetadata("1.2", "4.3.0", "abc", ("in",), (JOIN, GROUPS))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    return tmp_path


def error(checkpoint: Path, now: CheckpointMetadata) -> str:
    with pytest.raises(UnsupportedError) as found:
        settle(checkpoint, now, MADE)
    assert found.value.hint is not None and "Continue with streamsql 1.2" in found.value.hint
    return found.value.message


def with_join(join: StoreLayout) -> CheckpointMetadata:
    return replace(MADE, stores=(join, GROUPS))


def test_what_is_written_is_read(checkpoint: Path) -> None:
    assert read(checkpoint) is None, "an earlier version wrote it"
    settle(checkpoint, MADE, None)
    assert read(checkpoint) == MADE
    assert json.loads((checkpoint / "state.json").read_text())["format"] == 1


def test_a_later_engine_that_fits_says_so(checkpoint: Path) -> None:
    later = replace(MADE, engine="1.3", plan="def")
    settle(checkpoint, later, MADE)
    assert read(checkpoint) == later


def test_without_a_commit_there_is_no_state(tmp_path: Path) -> None:
    settle(tmp_path, MADE, None)
    assert read(tmp_path) is None


def test_what_a_later_version_wrote_is_refused(checkpoint: Path) -> None:
    (checkpoint / "state.json").write_text('{"format": 2, "engine": "9.1", "sorted": true}')
    with pytest.raises(UnsupportedError, match=r"by streamsql 9.1 in format 2; this version") as e:
        read(checkpoint)
    assert "9.1" in (e.value.hint or "")


def test_a_damaged_file_is_no_missing_one(checkpoint: Path) -> None:
    (checkpoint / "state.json").write_text('{"format": 1, "eng')
    with pytest.raises(ExternalError, match=r"cannot read .*state\.json"):
        read(checkpoint)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ((("A.X", "int"), ("A.Y", "string")), "has A.X bigint, not int"),
        ((("A.X", "bigint"),), "has A.Y string, which the query lacks"),
        ((*JOIN.columns, ("A.Z", "date")), "lacks A.Z date"),
        ((("A.Y", "string"), ("A.X", "bigint")), "have another order"),
    ],
)
def test_the_column_that_does_not_fit_is_named(
    checkpoint: Path, columns: tuple[tuple[str, str], ...], found: str
) -> None:
    message = error(checkpoint, with_join(replace(JOIN, columns=columns)))
    assert found in message and JOIN.operator in message
    assert "streamsql 1.2 on Spark 4.3.0" in message


def test_what_else_does_not_fit(checkpoint: Path) -> None:
    key = error(checkpoint, with_join(replace(JOIN, key=(("key", "string"),))))
    assert re.search("key of JOIN .* has key int, not string", key)
    assert "encoding 1, not 2" in error(checkpoint, with_join(replace(JOIN, encoding=2)))
    assert "not of DISTINCT" in error(
        checkpoint, with_join(StoreLayout("tables.Deduplication", "DISTINCT", (), ()))
    )
    assert "has state of GROUP BY K" in error(checkpoint, replace(MADE, stores=(JOIN,)))
    more = replace(GROUPS, operator="HAVING C > 1")
    assert "has no state of HAVING C > 1" in error(
        checkpoint, replace(MADE, stores=(JOIN, GROUPS, more))
    )
    assert "it reads in, not in, other" in error(checkpoint, replace(MADE, sources=("in", "other")))


# -- while a plan is lowered ----------------------------------------------------------------------


def test_a_checkpoint_decides_which_columns_are_kept() -> None:
    layouts = Layouts(kept=(JOIN, GROUPS), begun=True)
    there = ["A.X", "A.Y", "A.Z"]
    assert layouts.columns(["A.Y"], there, JOIN.kind) == ["A.X", "A.Y"]
    assert layouts.columns(["A.Z"], there, JOIN.kind) == ["A.Z"], "it has to be refused"
    assert layouts.columns(["A.Y"], ["A.Y"], JOIN.kind) == ["A.Y"]
    assert layouts.columns(["A.Y"], there, "joins.StreamTableJoin") == ["A.Y"]
    assert layouts.columns(["A.Y"], there, JOIN.kind, 1) == ["A.Y"]
    assert Layouts().columns(["A.Y"], there, JOIN.kind) == ["A.Y"]
    assert names_of((JOIN,)) == {"A.X", "A.Y"}


def test_columns_that_operators_add_are_not_looked_for() -> None:
    top = StoreLayout(
        "tables.TopN", "TOP", (), (("$id", "binary"), ("$order0", "int"), ("A", "int"))
    )
    assert Layouts(kept=(top,)).columns([], ["A"], top.kind) == ["A"]
    empty = replace(top, columns=(("$null", "boolean"),))
    assert Layouts(kept=(empty,)).columns([], ["A"], top.kind) == []
