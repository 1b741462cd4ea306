"""What lowering decides without running: rows of push queries, slots, the totality of operators."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules

import pytest
from planner.plan_script import Script

from streamsql.executor.frames.push_rows import ShownKeys, push_columns, push_decoder
from streamsql.executor.lowering.batch import most_at_once
from streamsql.executor.operators.lowering import Lowering, lowering_of
from streamsql.executor.queries.start import checkpointed_shuffle_partitions
from streamsql.executor.spark.capacity import SlotBudget
from streamsql.planner import operators
from streamsql.planner.plans.statements import PullPlan
from streamsql.results import Row
from streamsql.schema import WINDOWSTART, Column, Namespace, Schema
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    array,
    decimal,
    map_,
    struct,
)


def _decoded(t: SQLType, value: object) -> object:
    schema = Schema((Column("C", t),))
    record = dict(zip(push_columns(schema), (value, False), strict=True))
    row = push_decoder(schema)(json.dumps(record).encode())
    assert not row.tombstone
    return row.values[0]


@pytest.mark.parametrize(
    ("t", "written", "cell"),
    [
        (BOOLEAN, True, True),
        (INT, 1, 1),
        (BIGINT, 9007199254740993, 9007199254740993),
        (DOUBLE, 2, 2.0),
        (DOUBLE, "NaN", pytest.approx(float("nan"), nan_ok=True)),
        (DOUBLE, "-Infinity", float("-inf")),
        (STRING, "é", "é"),
        (BYTES, "AQI=", b"\x01\x02"),
        (DATE, 18262, datetime.date(2020, 1, 1)),
        (TIME, 3661001, datetime.time(1, 1, 1, 1000)),
        (TIMESTAMP, -1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)),
        (array(DATE), [0, None], [datetime.date(1970, 1, 1), None]),
        (map_(STRING, INT), {"k": 1}, {"k": 1}),
        (struct([("X", BYTES), ("Y", INT)]), {"X": "AQ=="}, {"X": b"\x01", "Y": None}),
        (INT, None, None),
    ],
)
def test_cells_of_push_rows(t: SQLType, written: object, cell: object) -> None:
    assert _decoded(t, written) == cell


def test_decimals_of_push_rows_keep_their_digits() -> None:
    schema = Schema((Column("C", decimal(20, 2)),))
    row = push_decoder(schema)(b'{"c0":123456789012345678.50,"tombstone":false}')
    assert str(row.values[0]) == "123456789012345678.50"
    assert isinstance(row.values[0], Decimal)


@pytest.mark.parametrize(
    ("query", "in_parts"),
    [
        ("SELECT user_id, page FROM views WHERE duration > 1", True),
        ("SELECT EXPLODE(tags) FROM views UNION ALL SELECT target FROM clicks", True),
        ("SELECT page, COUNT(*) FROM views GROUP BY page", False),
        ("SELECT * FROM users", False),
        ("SELECT v.page FROM views v JOIN users u ON v.user_id = u.id", False),
    ],
)
def test_rows_that_meet_no_others_are_read_in_parts(query: str, in_parts: bool) -> None:
    planned = Script().run(f"{query};")
    assert isinstance(planned, PullPlan)
    assert (most_at_once(planned.query.root) is not None) == in_parts


def test_only_keys_that_were_shown_are_shown_to_go() -> None:
    shown = ShownKeys(Schema((Column("K", STRING, Namespace.KEY), Column("V", INT))))
    gone = Row(("a", None), tombstone=True)
    assert not shown.is_news(gone)
    assert shown.is_news(Row(("a", 1)))
    assert shown.is_news(gone)
    assert not shown.is_news(gone)


def test_a_key_is_shown_once_for_each_window() -> None:
    columns = (Column("K", STRING, Namespace.KEY), WINDOWSTART, Column("V", INT))
    shown = ShownKeys(Schema(columns))
    assert shown.is_news(Row(("a", 0, 1)))
    assert not shown.is_news(Row(("a", 60_000, None), tombstone=True))
    assert shown.is_news(Row(("a", 0, None), tombstone=True))


def test_the_bounds_of_a_window_may_have_other_names() -> None:
    columns = (Column("K", STRING, Namespace.KEY), Column("BEGIN", BIGINT))
    shown = ShownKeys(Schema(columns), {"BEGIN"})
    assert shown.is_news(Row(("a", 0)))
    assert not shown.is_news(Row(("a", 60_000), tombstone=True))


def test_beyond_its_limit_every_row_is_shown() -> None:
    shown = ShownKeys(Schema((Column("K", STRING, Namespace.KEY),)), limit=1)
    assert all(shown.is_news(Row((key,))) for key in ("a", "b"))
    assert shown.is_news(Row(("c",), tombstone=True))


def test_slots_are_held_until_released() -> None:
    budget = SlotBudget(lambda: 8)
    assert budget.acquire("a", 4)
    assert not budget.acquire("b", 3)
    assert budget.acquire("a", 6), "what a query holds itself does not count against it"
    assert budget.free == 0
    budget.release("a")
    assert budget.acquire("b", 3)
    assert budget.free == 3


def test_shuffle_partitions_come_from_the_newest_offsets(tmp_path: Path) -> None:
    assert checkpointed_shuffle_partitions(tmp_path) is None
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    for batch, partitions in ((9, 3), (10, 5)):
        metadata = {"conf": {"spark.sql.shuffle.partitions": str(partitions)}}
        (offsets / str(batch)).write_text(f"v1\n{json.dumps(metadata)}\n{{}}\n")
    (offsets / ".10.crc").write_bytes(b"")
    assert checkpointed_shuffle_partitions(tmp_path) == 5


def _all_subclasses(base: type) -> set[type]:
    direct = set(base.__subclasses__())
    return direct.union(*(_all_subclasses(child) for child in direct))


def test_every_operator_has_a_lowering() -> None:
    for module in iter_modules(operators.__path__):
        import_module(f"{operators.__name__}.{module.name}")
    for operator in _all_subclasses(operators.Operator):
        if not isabstract(operator):
            assert isinstance(lowering_of(operator), Lowering), operator
