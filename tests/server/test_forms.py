"""Rows as they are sent: every form, every type."""

from __future__ import annotations

import base64
import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from streamsql.errors import UnsupportedError
from streamsql.formats.protobuf_json import protobuf_to_json
from streamsql.formats.registered import SchemaText
from streamsql.parser import parse_type
from streamsql.results import Progress, Row
from streamsql.schema import Column, Namespace, Schema
from streamsql.server.http.errors import Failure
from streamsql.server.http.media import DELIMITED, JSON, KSQL_JSON, PROTOBUF
from streamsql.server.rows.json_values import RowWriter
from streamsql.server.rows.streamed_rows import FORMS


def schema(*columns: str) -> Schema:
    """Of texts such as `A INT`; the first column is the key."""
    made = []
    for number, text in enumerate(columns):
        name, kind = text.split(" ", 1)
        namespace = Namespace.VALUE if number else Namespace.KEY
        made.append(Column(name, parse_type(kind), namespace))
    return Schema(tuple(made))


PLAIN = schema("K INT", "V STRING")
ROWS = [Row((1, "a")), Row((2, None), tombstone=True)]


def sent(media: str, push: bool, end: str | None = None, failed: bool = False) -> str:
    form = FORMS[media]("q_1", PLAIN, push)
    tail = form.failed(Failure(50000, "broken")) if failed else form.end(end)
    return form.head() + "".join(map(form.row, ROWS)) + tail


@pytest.mark.parametrize(
    ("media", "push", "end", "text"),
    [
        (
            KSQL_JSON,
            True,
            "Limit Reached",
            '[{"header":{"queryId":"q_1","schema":"`K` INTEGER KEY, `V` STRING"}},\n'
            '{"row":{"columns":[1,"a"]}},\n'
            '{"row":{"columns":[2,null],"tombstone":true}},\n'
            '{"finalMessage":"Limit Reached"}]\n',
        ),
        (
            KSQL_JSON,
            False,
            None,
            '[{"header":{"queryId":"q_1","schema":"`K` INTEGER KEY, `V` STRING"}},\n'
            '{"row":{"columns":[1,"a"]}},\n'
            '{"row":{"columns":[2,null],"tombstone":true}}]\n',
        ),
        (
            DELIMITED,
            True,
            "Limit Reached",
            '{"queryId":"q_1","columnNames":["K","V"],"columnTypes":["INTEGER","STRING"]}\n'
            '[1,"a"]\n[2,null]\n',
        ),
        (
            JSON,
            False,
            None,
            '[{"queryId":null,"columnNames":["K","V"],"columnTypes":["INTEGER","STRING"]},\n'
            '[1,"a"],\n[2,null]]\n',
        ),
    ],
)
def test_forms(media: str, push: bool, end: str | None, text: str) -> None:
    assert sent(media, push, end) == text


@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("media", [KSQL_JSON, JSON, PROTOBUF])
def test_arrays_are_json_however_they_end(media: str, push: bool) -> None:
    for text in (sent(media, push), sent(media, push, "Done"), sent(media, push, failed=True)):
        assert isinstance(json.loads(text), list)
    error = json.loads(sent(media, push, failed=True))[-1]
    assert error.get("errorMessage", error)["error_code"] == 50000


def test_lines_are_json_and_rows_of_a_push_query_complete_lines() -> None:
    lines = sent(DELIMITED, True, failed=True).splitlines()
    assert json.loads(lines[-1])["message"] == "broken"
    form = FORMS[KSQL_JSON]("q_1", PLAIN, True)
    assert form.head().endswith("\n") and form.row(ROWS[0]).endswith("\n")


MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 5, 250_000)
VALUES: list[tuple[str, Any, str]] = [
    ("BOOLEAN", True, "true"),
    ("INT", -7, "-7"),
    ("BIGINT", 9223372036854775807, "9223372036854775807"),
    ("DOUBLE", 1.5, "1.5"),
    ("DOUBLE", float("nan"), '"NaN"'),
    ("DOUBLE", float("-inf"), '"-Infinity"'),
    ("DECIMAL(30, 10)", Decimal("12345678901234567890.0123456789"), ""),
    ("DECIMAL(5, 2)", Decimal("1E+2"), "100"),
    ("STRING", 'a"\n\u2713', '"a\\"\\n\u2713"'),
    ("BYTES", b"\x00\xff", '"AP8="'),
    ("DATE", MOMENT.date(), '"2024-02-29"'),
    ("TIME", MOMENT.time(), '"12:30:05.250"'),
    ("TIME", datetime.time(9, 5), '"09:05:00"'),
    ("TIMESTAMP", MOMENT, '"2024-02-29T12:30:05.250"'),
    ("ARRAY<DECIMAL(3, 1)>", [Decimal("1.0"), None], "[1.0,null]"),
    ("MAP<STRING, DATE>", {"a": MOMENT.date(), "b": None}, '{"a":"2024-02-29","b":null}'),
    ("STRUCT<X INT, Y ARRAY<BYTES>>", {"X": None, "Y": [b"a"]}, '{"X":null,"Y":["YQ=="]}'),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES)
def test_cells(kind: str, value: Any, text: str) -> None:
    write = RowWriter([parse_type(kind)])
    assert write([value]) == f"[{text or value}]"
    assert write([None]) == "[null]"


def test_protobuf_rows_read_back() -> None:
    columns = schema(
        "K STRING",
        "D DECIMAL(5, 2)",
        "T TIMESTAMP",
        "B BYTES",
        "M MAP<STRING, INT>",
        "S STRUCT<X INT>",
        "L ARRAY<STRING>",
        "DAY DATE",
        "TIME TIME",
    )
    form = FORMS[PROTOBUF]("q_1", columns, False)
    row = Row(
        (
            "key",
            Decimal("1.50"),
            MOMENT,
            b"\x01",
            {"a": 1, "b": None},
            {"X": 2},
            ["x", None],
            MOMENT.date(),
            MOMENT.time(),
        )
    )
    head, line = json.loads(form.head() + form.row(row) + form.end(None))
    message = base64.b64decode(line["row"]["protobufBytes"])
    found = protobuf_to_json(SchemaText("PROTOBUF", head["header"]["protoSchema"]), message)
    milliseconds = (MOMENT - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
    assert found == {
        "K": "key",
        "D": Decimal("1.50"),
        "T": milliseconds,
        "B": base64.b64encode(b"\x01").decode(),
        "M": [{"key": "a", "value": 1}, {"key": "b", "value": 0}],
        "S": {"X": 2},
        "L": ["x", ""],
        "DAY": milliseconds // 86_400_000,
        "TIME": milliseconds % 86_400_000,
    }


def test_protobuf_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(UnsupportedError, match="column V"):
        FORMS[PROTOBUF]("q_1", schema("K INT", "V ARRAY<ARRAY<INT>>"), False)


@pytest.mark.parametrize("media", [KSQL_JSON, PROTOBUF, DELIMITED, JSON])
def test_progress_is_an_object_of_its_own(media: str) -> None:
    form = FORMS[media]("q_1", PLAIN, True)
    text = form.head() + form.row(ROWS[0]) + form.progress(Progress(7, 1_700)) + form.end(None)
    whole = text if text.startswith("[") else f"[{','.join(text.splitlines())}]"
    assert json.loads(whole)[2] == {"progress": {"epoch": 7, "time": 1_700}}
