"""What is sent between server and client comes out as it went in: values, results, errors,
catalogs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsql import types
from streamsql.api.catalogs import decode_catalog, encode_catalog
from streamsql.catalog import Catalog
from streamsql.client.received import Received
from streamsql.client.wire import DONE, encode, to_line
from streamsql.client.wire_errors import decode_error, encode_error
from streamsql.client.wire_status import decode_status, encode_status
from streamsql.client.wire_types import type_of_text
from streamsql.errors import BindError, ExternalError, InternalError, Span, StreamSQLError
from streamsql.parser import parse
from streamsql.planner.statements import apply, plan
from streamsql.results import (
    Answer,
    Field,
    LineStream,
    Message,
    Progress,
    Result,
    Row,
    Rows,
    RowStream,
    Text,
    Warning,
)
from streamsql.schema import Column, Namespace, Schema
from streamsql.session import Session
from streamsql.status import QueryInfo, QueryState, StartupStatus, StartupStep, StepState
from streamsql.types import SQLType
from streamsql.values.wire import decoder, encoder

# -- values ----------------------------------------------------------------------------------------

milliseconds = st.integers(0, 86_399_999)
PRIMITIVES: list[tuple[SQLType, st.SearchStrategy[Any]]] = [
    (types.BOOLEAN, st.booleans()),
    (types.INT, st.integers(-(2**31), 2**31 - 1)),
    (types.BIGINT, st.integers(-(2**63), 2**63 - 1)),
    (types.DOUBLE, st.floats()),
    (types.STRING, st.text()),
    (types.BYTES, st.binary()),
    (types.DATE, st.dates()),
    (types.TIME, milliseconds.map(lambda ms: (datetime.min + timedelta(milliseconds=ms)).time())),
    (types.TIMESTAMP, st.datetimes().map(lambda moment: moment.replace(fold=0))),
]


def of_decimal(precision: int, scale: int) -> tuple[SQLType, st.SearchStrategy[Any]]:
    limit = 10**precision - 1
    values = st.integers(-limit, limit).map(lambda n: Decimal(f"{n}e-{scale}"))  # Never rounded.
    return types.decimal(precision, scale), values


decimals = st.integers(1, 38).flatmap(
    lambda p: st.integers(0, p).map(lambda scale: of_decimal(p, scale))
)
names = st.text(min_size=1, max_size=5)


def container(inner: Any) -> st.SearchStrategy[Any]:
    """Types made of other types, each with a strategy for its values."""
    arrays = inner.map(lambda i: (types.array(i[0]), st.lists(st.none() | i[1], max_size=3)))
    maps = inner.map(
        lambda i: (
            types.map_(types.STRING, i[0]),
            st.dictionaries(st.text(max_size=3), st.none() | i[1], max_size=3),
        )
    )
    structs = st.dictionaries(names, inner, min_size=1, max_size=3).map(
        lambda fields: (
            types.struct([(name, kind) for name, (kind, _) in fields.items()]),
            st.fixed_dictionaries({n: st.none() | values for n, (_, values) in fields.items()}),
        )
    )
    return st.one_of(arrays, maps, structs)


typed = st.recursive(st.one_of(st.sampled_from(PRIMITIVES), decimals), container, max_leaves=4)
cells = typed.flatmap(lambda pair: pair[1].map(lambda value: (pair[0], value)))


def exactly(value: Any) -> Any:
    """Tells apart what Python holds equal (1, 1.0 and True; 1.0 and 1.00), but not NaN from NaN."""
    if isinstance(value, dict):
        return {key: exactly(inner) for key, inner in value.items()}
    return [exactly(inner) for inner in value] if isinstance(value, list) else repr(value)


@given(cells)
def test_a_value_survives_by_its_type(cell: tuple[SQLType, Any]) -> None:
    kind, value = cell
    sent = json.loads(to_line(encoder(kind)(value)))
    received = decoder(kind)(sent)
    assert exactly(received) == exactly(value)


@given(typed)
def test_a_type_survives(pair: tuple[SQLType, Any]) -> None:
    kind, _ = pair
    assert type_of_text(types.to_sql(kind)) == kind


def test_a_moment_with_a_zone_is_sent_in_utc() -> None:
    moment = datetime.fromisoformat("2024-05-01T12:00:00+02:00")
    sent = encoder(types.TIMESTAMP)(moment)
    assert decoder(types.TIMESTAMP)(sent) == datetime(2024, 5, 1, 10)


# -- results ---------------------------------------------------------------------------------------


class Wire:
    """Lines as a client reads them; only the client closes them."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        for line in self._lines:
            if self.closed:
                return
            yield json.loads(line)

    def finish(self) -> None:
        self.closed = True

    close = finish


class Nothing:
    def cancel(self) -> None: ...


def sent(results: list[Result], *more: object) -> Received:
    lines = [to_line(item) for result in results for item in encode(result)]
    wire = Wire([*lines, *map(to_line, more or (DONE,))])
    return Received(wire, "SELECT 1;", Session())  # type: ignore[arg-type]


def test_results_arrive_as_they_were() -> None:
    complete: list[Result] = [
        Message("Stream created", "CSAS_S_1"),
        Warning("S exists."),
        Text("two\nlines"),
        Rows((Field("Name"), Field("N", types.INT)), [("a", 1), (None, None)], "Title"),
    ]
    assert list(sent(complete).results()) == complete


def test_rows_arrive_with_their_stream() -> None:
    fields = (Field("K", types.STRING), Field("T", types.TIME))
    rows = [Row(("a", time(1, 2, 3))), Progress(7, 1_700), Row(("a", None), tombstone=True)]
    stream = RowStream("q1", fields, iter(rows), Nothing(), "Limit Reached")
    found = []
    for result in sent([stream, Message("after")]).results():
        found.append(result)
        if isinstance(result, RowStream):
            assert (result.query_id, result.fields) == ("q1", fields)
            assert list(result.rows) == rows
            assert result.final_message == "Limit Reached"
    assert found[1:] == [Message("after")]


def test_rows_that_no_client_reads_are_skipped() -> None:
    stream = RowStream("q1", (Field("N", types.INT),), iter([Row((1,))] * 5), Nothing())
    kinds = [type(result) for result in sent([stream, Message("after")]).results()]
    assert kinds == [RowStream, Message]


def test_an_answer_and_lines_arrive() -> None:
    schema = Schema(
        (Column("K", types.STRING, Namespace.KEY), Column("D", types.decimal(6, 2))),
    )
    rows = [Row(("k", Decimal("1.50"))), Row((None, None))]
    answer = Answer("q2", schema, iter(rows), "Limit Reached", epoch=7)
    lines = LineStream(iter(["rowtime: 1", '"quoted"']), Nothing(), "Topic printing ceased")
    results = sent([answer, lines]).results()
    first = next(results)
    assert isinstance(first, Answer)
    assert (first.schema, list(first.rows), first.final_message) == (schema, rows, "Limit Reached")
    assert first.epoch == 7
    second = next(results)
    assert isinstance(second, LineStream)
    assert list(second.lines) == ["rowtime: 1", '"quoted"']
    assert second.final_message == "Topic printing ceased"
    assert next(results, None) is None


def test_an_error_among_rows_comes_out_of_them() -> None:
    error = ExternalError("the query q1 failed", retryable=True)
    stream = RowStream("q1", (Field("N", types.INT),), iter([Row((1,))]), Nothing())
    lines = [to_line(item) for item in encode(stream)][:-1]
    wire = Wire([*lines, to_line(encode_error(error, "SELECT 1;"))])
    received = Received(wire, "SELECT 1;", Session())  # type: ignore[arg-type]
    result = next(received.results())
    assert isinstance(result, RowStream)
    assert next(result.rows) == Row((1,))
    with pytest.raises(ExternalError, match="the query q1 failed") as raised:
        next(result.rows)
    assert raised.value.retryable


def test_changes_of_the_session_arrive() -> None:
    session = Session({"a": "1", "b": "2"}, {"X": "x"})
    change = {
        "type": "session",
        "set": {"a": "3"},
        "unset": ["b"],
        "define": {"Y": "y"},
        "undefine": ["X"],
    }
    wire = Wire([to_line(change), to_line({"type": "alive"}), to_line(DONE)])
    assert list(Received(wire, "", session).results()) == []  # type: ignore[arg-type]
    assert (session.properties, session.variables) == ({"a": "3"}, {"Y": "y"})


# -- errors, catalog, status -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        BindError("unknown", detail="More.", hint="Did you mean X?", span=Span(7, 8, 1, 8)),
        ExternalError("Kafka is lost", retryable=True),
        InternalError("a bug"),
    ],
)
def test_an_error_survives(error: StreamSQLError) -> None:
    sql = "SELECT x;"
    found = decode_error(json.loads(to_line(encode_error(error.located(sql), sql))), sql)
    assert type(found) is type(error)
    assert vars(found) == vars(error)


def test_an_error_of_another_text_brings_it_along() -> None:
    error = BindError("unknown", span=Span(0, 1, 1, 1)).located("the view's text")
    assert decode_error(encode_error(error, "SELECT x;"), "SELECT x;").sql == "the view's text"


def test_an_error_of_a_newer_server_is_one_of_ours() -> None:
    line = {"class": "NewError", "message": "new"}
    assert isinstance(decode_error(line), InternalError)


STATEMENTS = """
CREATE TYPE address AS STRUCT<street STRING, `no` INT>;
CREATE STREAM s (k INT KEY, a address, m MAP<STRING, ARRAY<DECIMAL(5, 2)>>, h BYTES HEADER('h'))
  WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', KEY_FORMAT = 'DELIMITED',
  KEY_DELIMITER = '|', PARTITIONS = 2);
CREATE SOURCE TABLE t (id STRING PRIMARY KEY, made STRING) WITH (KAFKA_TOPIC = 't',
  VALUE_FORMAT = 'JSON', TIMESTAMP = 'made', TIMESTAMP_FORMAT = 'yyyy', WINDOW_TYPE = 'TUMBLING',
  WINDOW_SIZE = '1 HOUR', PARTITIONS = 1);
CREATE VIEW v AS SELECT k, a FROM s WHERE k > 1;
CREATE STREAM c AS SELECT k, a->street AS street FROM v;
CREATE FUNCTION twice (x INT) RETURNS INT LANGUAGE PYTHON AS 'def twice(x): return 2 * x';
"""


def test_a_catalog_survives() -> None:
    catalog = Catalog()
    for statement in parse(STATEMENTS):
        apply(plan(statement, catalog, {}), catalog)
    assert set(catalog.sources) == {"S", "T", "C"}
    received = decode_catalog(json.loads(json.dumps(encode_catalog(catalog))))
    assert received.sources == catalog.sources
    assert received.types == catalog.types
    assert received.queries == catalog.queries
    assert {n: (v.reads, v.statement) for n, v in received.views.items()} == {
        n: (v.reads, v.statement) for n, v in catalog.views.items()
    }
    assert {n: (f.parameters, f.code) for n, f in received.functions.items()} == {
        n: (f.parameters, f.code) for n, f in catalog.functions.items()
    }
    assert received.next_query == catalog.next_query


def test_a_status_survives() -> None:
    steps = (
        StartupStep("kafka", StepState.DONE),
        StartupStep("spark", StepState.RUNNING, "x", 0.5),
    )
    status = StartupStatus(steps, ExternalError("Spark cannot be started"))
    query = QueryInfo(
        "CTAS_T_1", "PERSISTENT", QueryState.CATCHING_UP, "real-time", "because", 3, "SQL", "T"
    )
    received, queries = decode_status(json.loads(json.dumps(encode_status(status, [query]))))
    assert received.steps == steps
    assert received.error is not None and received.error.message == "Spark cannot be started"
    assert queries == [query]


def test_a_date_is_no_moment() -> None:
    assert encoder(types.DATE)(date(2024, 1, 2)) == "2024-01-02"
