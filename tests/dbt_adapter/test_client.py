"""dbt's client: what a server sends, and what is said where there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from dbt.adapters.streamsql.client import Client, ServerError

from streamsql.client.wire import DONE, encode
from streamsql.client.wire_errors import encode_error
from streamsql.errors import ParseError, Span
from streamsql.parser import parse_type
from streamsql.results import Answer, Message, Result, Row, RowStream
from streamsql.schema import Column, Schema

VALUES = [
    ("BOOLEAN", True, True),
    ("BIGINT", 2**53 + 1, 2**53 + 1),
    ("DOUBLE", 1.5, 1.5),
    ("DECIMAL(20, 2)", Decimal("12345678901234567.89"), Decimal("12345678901234567.89")),
    ("STRING", "ö", "ö"),
    ("DATE", date(2024, 2, 29), date(2024, 2, 29)),
    ("TIME", time(12, 0, 1), time(12, 0, 1)),
    ("TIMESTAMP", datetime(2024, 2, 29, 12), datetime(2024, 2, 29, 12)),
    ("ARRAY<INTEGER>", [1, None], "[1, null]"),
    ("STRING", None, None),
]
"""Types, what the engine has, and what dbt is given."""


class Played:
    """An answer's lines."""

    def __init__(self, lines: Sequence[object]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[Any]:
        return (json.loads(json.dumps(line)) for line in self._lines)

    def finish(self) -> None: ...

    def close(self) -> None: ...


class Sent(Client):
    """Answers with the lines of results."""

    def __init__(self, *lines: object) -> None:
        super().__init__("localhost")
        self._transport.stream = lambda path, body: Played(lines)  # type: ignore[assignment, method-assign, return-value]

    @staticmethod
    def of(*results: Result) -> Sent:
        return Sent(*(line for result in results for line in encode(result)), DONE)


def test_values_are_those_of_the_engine() -> None:
    schema = Schema(tuple(Column(f"C{i}", parse_type(t)) for i, (t, *_) in enumerate(VALUES)))
    row = Row(tuple(value for _, value, _ in VALUES))
    found = Sent.of(Message("first"), Answer(None, schema, [row])).execute("..")
    assert found.messages == ["first"]
    assert [kind for _, kind in found.columns] == [kind for kind, *_ in VALUES]
    assert found.rows == [[expected for *_, expected in VALUES]]
    nan = Answer(None, Schema((Column("C", parse_type("DOUBLE")),)), [Row((math.nan,))])
    assert math.isnan(Sent.of(nan).execute("..").rows[0][0])


def test_errors_have_their_place_and_their_hint() -> None:
    error = ParseError("unexpected FORM", hint="Did you mean FROM?", span=Span(9, 13, 1, 10))
    with pytest.raises(ServerError) as raised:
        Sent(encode_error(error, "SELECT a FORM b;")).execute("..")
    assert str(raised.value) == "unexpected FORM (line 1, column 10)\nHint: Did you mean FROM?"


def test_a_query_that_does_not_end_is_not_waited_for() -> None:
    with pytest.raises(ServerError, match="Leave out EMIT CHANGES"):
        Sent.of(RowStream("q", (), iter(()), None)).execute("..")  # type: ignore[arg-type]


def test_where_no_server_is() -> None:
    with pytest.raises(ServerError, match="cannot reach http://127.0.0.1:1: .*\nHint: Is a server"):
        Client("127.0.0.1:1").queries()
    with pytest.raises(ServerError, match="ftp://a is not the address of a server"):
        Client("ftp://a")
