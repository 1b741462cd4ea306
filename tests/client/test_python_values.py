"""Rows, Arrow tables and what a notebook shows: what Python programs get of a result."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from streamsql import types
from streamsql.client.arrow import arrow_table, arrow_type, data_frame
from streamsql.client.result import QueryResult
from streamsql.client.row import row_type
from streamsql.errors import ExternalError
from streamsql.results import Field, Message, Result, Row, Rows, RowStream, Text, Warning
from streamsql.types import SQLType

# -- rows ------------------------------------------------------------------------------------------


def test_a_cell_has_many_names() -> None:
    row = row_type(("USER", "count", "a b"))(("ann", 3, None))
    assert row == ("ann", 3, None)
    assert row[0] == row["USER"] == row["user"] == row.USER == row.user == "ann"
    assert row["a b"] is None and row[-1] is None and row[:2] == ("ann", 3)
    assert row.asdict() == {"USER": "ann", "count": 3, "a b": None}
    assert repr(row) == "Row(USER='ann', count=3, a b=None)"


def test_a_column_is_not_hidden_by_what_a_tuple_has() -> None:
    row = row_type(("COUNT", "INDEX"))((7, 8))
    assert (row.count, row.index) == (7, 8)


def test_a_name_that_is_none_is_reported() -> None:
    row = row_type(("USER",))(("ann",))
    with pytest.raises(KeyError, match="Did you mean USER"):
        row["USR"]
    with pytest.raises(AttributeError, match="no column USR"):
        row.USR  # noqa: B018


def test_a_row_can_be_pickled() -> None:
    row = row_type(("K", "N"), tombstone=True)(("a", None))
    again = pickle.loads(pickle.dumps(row))
    assert again == row and again.K == "a" and again.tombstone


# -- results ---------------------------------------------------------------------------------------


class Source:
    """A push query that a test can end."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def push(rows: Iterator[Row], source: Source, *after: Result) -> Iterator[Result]:
    stream = RowStream("q", (Field("N", types.INT),), rows, source, "Limit Reached")
    yield stream
    yield from after


def endless(source: Source) -> Iterator[Row]:
    number = 0
    while not source.cancelled:
        yield Row((number,))
        number += 1


def test_the_last_statement_gives_the_rows() -> None:
    shown = Rows((Field("Name"),), [("s",), ("t",)])
    result = QueryResult(iter([Message("Stream created"), Warning("exists"), shown]))
    assert result.messages == ["Stream created", "exists"]
    assert [row["Name"] for row in result] == ["s", "t"]
    assert list(result) == list(result), "complete rows can be read again"
    assert not result.is_push


def test_text_is_no_rows() -> None:
    result = QueryResult(iter([Rows((Field("A"),), [(1,)]), Text("the plan")]))
    assert (result.text, result.rows, str(result)) == ("the plan", [], "the plan")


def test_a_push_query_ends_by_itself() -> None:
    source = Source()
    result = QueryResult(push(iter([Row((1,)), Row((None,), tombstone=True)]), source))
    assert result.is_push
    assert [(row, row.tombstone) for row in result] == [((1,), False), ((None,), True)]
    assert result.messages == ["Limit Reached"]
    assert not result.is_push


def test_statements_after_a_push_query_run_at_its_end() -> None:
    done: list[str] = []

    def results() -> Iterator[Result]:
        yield from push(iter([Row((1,))]), Source())
        done.append("ran")
        yield Message("after")

    result = QueryResult(results())
    assert done == []
    assert [*result] == [(1,)]
    assert done == ["ran"] and result.messages == ["Limit Reached", "after"]


def test_a_push_query_is_cancelled_by_leaving_it() -> None:
    source = Source()
    done: list[str] = []
    with QueryResult(push(endless(source), source, Message("not run"))) as result:
        for row in result:
            done.append(str(row.N))
            if row.N == 2:
                break
    assert source.cancelled and done == ["0", "1", "2"] and result.messages == []


def test_a_few_rows_can_be_fetched() -> None:
    source = Source()
    result = QueryResult(push(endless(source), source))
    assert result.fetch(3) == [(0,), (1,), (2,)]
    assert source.cancelled and result.rows == [(0,), (1,), (2,)]


def test_an_interrupt_keeps_the_rows_that_came() -> None:
    def interrupted() -> Iterator[Row]:
        yield Row((1,))
        raise KeyboardInterrupt

    source = Source()
    result = QueryResult(push(interrupted(), source))
    assert result.fetch(100) == [(1,)]
    assert source.cancelled


async def _all(result: QueryResult, most: int | None = None) -> list[Any]:
    rows: list[Any] = []
    async for row in result:
        rows.append(row)
        if len(rows) == most:
            break
    return rows


def test_rows_come_to_an_event_loop() -> None:
    import asyncio

    numbers = [Row((n,)) for n in range(5000)]
    source = Source()
    rows = asyncio.run(_all(QueryResult(push(iter(numbers), source))))
    assert rows == [(n,) for n in range(5000)]


def test_an_event_loop_that_has_seen_enough_ends_the_query() -> None:
    import asyncio

    source = Source()
    rows = asyncio.run(_all(QueryResult(push(endless(source), source)), 10))
    assert len(rows) == 10 and source.cancelled


def test_an_error_comes_to_an_event_loop() -> None:
    import asyncio

    def failing() -> Iterator[Row]:
        yield Row((1,))
        raise ExternalError("lost")

    with pytest.raises(ExternalError, match="lost"):
        asyncio.run(_all(QueryResult(push(failing(), Source()))))


# -- Arrow -----------------------------------------------------------------------------------------

MOMENT = datetime(2024, 5, 1, 12, 30, 0, 5000)
ARROW: list[tuple[SQLType, Any, pa.DataType, Any]] = [
    (types.BOOLEAN, True, pa.bool_(), True),
    (types.INT, -1, pa.int32(), -1),
    (types.BIGINT, 2**62, pa.int64(), 2**62),
    (types.DOUBLE, 0.1, pa.float64(), 0.1),
    (types.decimal(6, 2), Decimal("1.5"), pa.decimal128(6, 2), Decimal("1.50")),
    (types.STRING, "é", pa.string(), "é"),
    (types.BYTES, b"\x00", pa.binary(), b"\x00"),
    (types.DATE, date(2024, 2, 29), pa.date32(), date(2024, 2, 29)),
    (types.TIME, time(1, 2, 3, 4000), pa.time32("ms"), time(1, 2, 3, 4000)),
    (types.TIMESTAMP, MOMENT, pa.timestamp("ms", "UTC"), MOMENT.replace(tzinfo=UTC)),
    (types.array(types.INT), [1, None], pa.list_(pa.int32()), [1, None]),
    (
        types.map_(types.STRING, types.map_(types.STRING, types.INT)),
        {"a": {"b": 1}, "c": None},
        pa.map_(pa.string(), pa.map_(pa.string(), pa.int32())),
        [("a", [("b", 1)]), ("c", None)],
    ),
    (
        types.struct([("F", types.DATE), ("M", types.map_(types.STRING, types.INT))]),
        {"F": None, "M": {"x": 1}},
        pa.struct([("F", pa.date32()), ("M", pa.map_(pa.string(), pa.int32()))]),
        {"F": None, "M": [("x", 1)]},
    ),
]


@pytest.mark.parametrize(("kind", "value", "arrow", "expected"), ARROW)
def test_a_value_in_arrow(kind: SQLType, value: Any, arrow: pa.DataType, expected: Any) -> None:
    assert arrow_type(kind) == arrow
    table = arrow_table((Field("V", kind),), [(value,), (None,)])
    assert table.schema == pa.schema([("V", arrow)])
    assert table.column("V").to_pylist() == [expected, None]


def test_an_empty_table_has_types() -> None:
    table = arrow_table((Field("A", types.INT), Field("B", types.STRING)), [])
    assert table.schema == pa.schema([("A", pa.int32()), ("B", pa.string())])
    assert table.num_rows == 0


def test_whole_numbers_stay_so_in_pandas() -> None:
    pytest.importorskip("pandas")
    table = arrow_table((Field("N", types.BIGINT),), [(2**62 + 1,), (None,)])
    frame = data_frame(table)
    assert frame["N"][0] == 2**62 + 1
    assert frame["N"].isna().tolist() == [False, True]


# -- showing ---------------------------------------------------------------------------------------


def test_html_is_escaped() -> None:
    result = QueryResult(iter([Rows((Field("<b>"),), [("<script>",), (None,)])]))
    html = result._repr_html_()
    assert "<th>&lt;b&gt;</th>" in html and "<td>&lt;script&gt;</td>" in html
    assert "<script>" not in html and "<td>null</td>" in html


def test_text_is_a_table() -> None:
    rows = Rows((Field("K", types.STRING), Field("N", types.INT)), [("a", 1), ("bcd", None)])
    assert str(QueryResult(iter([rows]))).splitlines() == [
        "K   │ N",
        "────┼─────",
        "a   │ 1",
        "bcd │ null",
    ]
