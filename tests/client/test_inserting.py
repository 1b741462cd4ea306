"""Rows of Python values become JSON rows that mean just these values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
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
from streamsql.client.inserting import BATCH, batches
from streamsql.client.row import row_type
from streamsql.errors import BindError, TypeMismatchError
from streamsql.parser import parse_one
from streamsql.planner.statements import apply, plan
from streamsql.statements.inserting.json_cells import cell
from streamsql.types import SQLType, quote, to_sql


@cache
def source_of(kind: SQLType) -> Source:
    """A stream with a column V of the type."""
    catalog = Catalog()
    sql = (
        f"CREATE STREAM s (k STRING KEY, v {to_sql(kind)}, other INT) "
        "WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    apply(plan(parse_one(sql), catalog, {}), catalog)
    return catalog.sources["S"]


def written(kind: SQLType, row: Any) -> dict[str, Any]:
    """What is written of a row that has gone over the network: values by column."""
    source = source_of(kind)
    ((sent,),) = batches(source, [row])
    received = cells(source, json.loads(json.dumps(sent), parse_float=Decimal))
    assert repr(received) == repr(cells(source, sent)), "an engine here takes it otherwise"
    return received


def cells(source: Source, row: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {quote(c.name): c for c in source.schema}
    return {kinds[name].name: cell(value, kinds[name].type) for name, value in row.items()}


@st.composite
def moments(draw: Callable[[st.SearchStrategy[Any]], Any]) -> datetime:
    moment: datetime = draw(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


CASES: list[tuple[SQLType, st.SearchStrategy[Any]]] = [
    (types.BOOLEAN, st.booleans()),
    (types.INT, st.integers(-(2**31), 2**31 - 1)),
    (types.BIGINT, st.integers(-(2**63), 2**63 - 1)),
    (types.DOUBLE, st.floats(allow_nan=False)),
    (
        types.decimal(12, 3),
        st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    ),
    (types.STRING, st.text()),
    (types.BYTES, st.binary()),
    (types.DATE, st.dates()),
    (types.TIMESTAMP, moments()),
    (types.array(types.INT), st.lists(st.integers(-5, 5))),
    (
        types.map_(types.STRING, types.DOUBLE),
        st.dictionaries(st.text(), st.floats(allow_nan=False)),
    ),
    (
        types.struct([("A", types.STRING), ("a", types.BIGINT), ("b c", types.TIME)]),
        st.fixed_dictionaries(
            {
                "A": st.none() | st.text(),
                "a": st.none() | st.integers(0, 9),
                "b c": st.none() | st.builds(time, st.integers(0, 23)),
            }
        ),
    ),
]


@given(st.sampled_from(CASES).flatmap(lambda case: st.tuples(st.just(case), case[1])))
def test_a_value_arrives_as_it_is(drawn: tuple[Any, Any]) -> None:
    (kind, _), value = drawn
    assert written(kind, {"v": value})["V"] == value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (types.DOUBLE, math.inf, math.inf),
        (types.DOUBLE, 3, 3.0),
        (types.decimal(5, 2), 7, Decimal("7.00")),
        (types.TIME, time(1, 2, 3, 4000), time(1, 2, 3, 4000)),
        (types.TIMESTAMP, datetime(1970, 1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 1)),
        (types.STRING, "it's ${x}; -- no", "it's ${x}; -- no"),
        (types.array(types.STRING), ("a", None), ["a", None]),
        (types.struct([("A", types.INT)]), {"a": 1}, {"A": 1}),
        (types.INT, None, None),
    ],
)
def test_values_of_other_classes(kind: SQLType, value: Any, expected: Any) -> None:
    assert written(kind, {"v": value})["V"] == expected


def test_nan_is_a_double() -> None:
    assert math.isnan(written(types.DOUBLE, {"v": math.nan})["V"])


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
        written(kind, {"v": value})


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
    found = written(types.INT, row)
    assert (found["K"], found["V"]) == ("a", 1)


@pytest.mark.parametrize("row", [{"nope": 1}, ("a", 1), "abc", 5])
def test_a_row_that_does_not_fit_is_refused(row: Any) -> None:
    with pytest.raises(BindError):
        written(types.INT, row)


def test_rowtime_may_be_given() -> None:
    ((sent,),) = batches(source_of(types.INT), [{"v": 1, "rowtime": 1234}])
    assert sent == {"`V`": 1, "`ROWTIME`": 1234}


def test_a_null_key_of_a_map_is_the_word() -> None:
    kind = types.map_(types.STRING, types.INT)
    assert written(kind, {"v": {None: 1, "a": None}})["V"] == {"null": 1, "a": None}


def test_many_rows_are_sent_in_batches() -> None:
    rows = ({"v": n} for n in range(BATCH + 5))
    assert [len(batch) for batch in batches(source_of(types.INT), rows)] == [BATCH, 5]
