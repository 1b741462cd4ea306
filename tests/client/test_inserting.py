"""Rows of Python values become INSERT statements that mean just these values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsql import types
from streamsql.catalog import Catalog, Source
from streamsql.client.inserting import BATCH, insert_batches
from streamsql.client.row import row_type
from streamsql.errors import BindError, TypeMismatchError
from streamsql.parser import parse, parse_one
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.planner.statements import apply, plan
from streamsql.planner.types.constants import evaluate_constant
from streamsql.types import SQLType, to_sql

_EPOCH = datetime(1970, 1, 1)


@cache
def table_of(kind: SQLType) -> tuple[Catalog, Source]:
    """A stream with a column V of the type."""
    catalog = Catalog()
    sql = (
        f"CREATE STREAM s (k STRING KEY, v {to_sql(kind)}, other INT) "
        "WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    apply(plan(parse_one(sql), catalog, {}), catalog)
    return catalog, catalog.sources["S"]


def planned(kind: SQLType, row: Any) -> dict[str, Any]:
    """What the INSERT of a row would write: by column, as constants are."""
    catalog, source = table_of(kind)
    ((text, count),) = insert_batches(source, [row])
    assert count == 1
    insert = plan(parse_one(text), catalog, {})
    assert isinstance(insert, InsertValuesPlan)
    values = [evaluate_constant(expression) for expression in insert.expressions]
    return dict(zip(insert.columns, values, strict=True))


milliseconds = st.integers(0, 86_399_999)


@st.composite
def moments(draw: Callable[[st.SearchStrategy[Any]], Any]) -> datetime:
    moment: datetime = draw(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def of_moment(moment: datetime) -> int:
    delta = moment - _EPOCH
    return delta.days * 86_400_000 + delta.seconds * 1000 + delta.microseconds // 1000


def _identity(value: Any) -> Any:
    return value


CASES: list[tuple[SQLType, st.SearchStrategy[Any], Callable[[Any], Any]]] = [
    (types.BOOLEAN, st.booleans(), _identity),
    (types.INT, st.integers(-(2**31), 2**31 - 1), _identity),
    (types.BIGINT, st.integers(-(2**63), 2**63 - 1), _identity),
    (types.DOUBLE, st.floats(allow_nan=False), _identity),
    (
        types.decimal(12, 3),
        st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3)),
        _identity,
    ),
    (types.STRING, st.text(), _identity),
    (types.BYTES, st.binary(), _identity),
    (types.DATE, st.dates(), _identity),
    (types.TIMESTAMP, moments(), of_moment),
    (types.array(types.INT), st.lists(st.integers(-5, 5), min_size=1), _identity),
    (
        types.map_(types.STRING, types.DOUBLE),
        st.dictionaries(st.text(), st.floats(allow_nan=False), min_size=1),
        _identity,
    ),
    (
        types.struct([("A", types.STRING), ("b c", types.BIGINT)]),
        st.fixed_dictionaries({"A": st.none() | st.text(), "b c": st.none() | st.integers(0, 9)}),
        _identity,
    ),
]


@given(st.sampled_from(CASES).flatmap(lambda case: st.tuples(st.just(case), case[1])))
def test_a_literal_means_its_value(drawn: tuple[Any, Any]) -> None:
    (kind, _, expected), value = drawn
    assert planned(kind, {"v": value})["V"] == expected(value)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (types.DOUBLE, math.inf, math.inf),
        (types.DOUBLE, 3, 3.0),
        (types.decimal(5, 2), 7, Decimal("7.00")),
        (types.TIME, time(1, 2, 3, 4000), 3_723_004),
        (types.TIMESTAMP, datetime(1970, 1, 1, 1, tzinfo=UTC), 3_600_000),
        (types.STRING, "it's ${x}; -- no", "it's ${x}; -- no"),
        (types.array(types.STRING), ("a", None), ["a", None]),
        (types.struct([("A", types.INT)]), {"a": 1}, {"A": 1}),
        (types.INT, None, None),
    ],
)
def test_values_of_other_classes(kind: SQLType, value: Any, expected: Any) -> None:
    assert planned(kind, {"v": value})["V"] == expected


def test_nan_is_a_double() -> None:
    assert math.isnan(planned(types.DOUBLE, {"v": math.nan})["V"])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (types.INT, 2**31),
        (types.INT, True),
        (types.INT, 1.5),
        (types.INT, "1"),
        (types.DOUBLE, "1"),
        (types.BOOLEAN, 1),
        (types.STRING, 1),
        (types.decimal(5, 2), 1.5),
        (types.decimal(5, 2), Decimal("NaN")),
        (types.DATE, datetime(2024, 1, 1)),
        (types.TIMESTAMP, date(2024, 1, 1)),
        (types.array(types.INT), "12"),
        (types.struct([("A", types.INT)]), {"b": 1}),
    ],
)
def test_a_value_of_another_type_is_refused(kind: SQLType, value: Any) -> None:
    with pytest.raises(TypeMismatchError):
        planned(kind, {"v": value})


@dataclass
class Reading:
    k: str
    v: int


@pytest.mark.parametrize(
    "row",
    [
        {"K": "a", "V": 1},
        {"k": "a", "v": 1},
        ("a", 1, None),
        ["a", 1, None],
        Reading("a", 1),
        row_type(("K", "V"))(("a", 1)),
    ],
)
def test_a_row_has_many_forms(row: Any) -> None:
    found = planned(types.INT, row)
    assert (found["K"], found["V"]) == ("a", 1)


@pytest.mark.parametrize("row", [{"nope": 1}, ("a", 1), "abc", 5])
def test_a_row_that_does_not_fit_is_refused(row: Any) -> None:
    with pytest.raises(BindError):
        planned(types.INT, row)


def test_rowtime_may_be_given() -> None:
    catalog, source = table_of(types.INT)
    ((text, _),) = insert_batches(source, [{"v": 1, "rowtime": 1234}])
    insert = plan(parse_one(text), catalog, {})
    assert isinstance(insert, InsertValuesPlan)
    assert insert.rowtime is not None and evaluate_constant(insert.rowtime) == 1234


def test_many_rows_are_sent_in_batches() -> None:
    _, source = table_of(types.INT)
    batches = list(insert_batches(source, ({"v": n} for n in range(BATCH + 5))))
    assert [count for _, count in batches] == [BATCH, 5]
    assert [len(parse(text)) for text, _ in batches] == [BATCH, 5]
