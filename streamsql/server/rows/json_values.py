"""Cells as JSON text, by their SQL types: the form in which ksqlDB answers.

DECIMAL is a number with all its digits, BYTES is base64, dates and times are ISO 8601 text, a
DOUBLE that is no number is text. The text is made here because Python's own writer has no exact
decimals.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable, Iterable, Sequence

from streamsql.results import Value
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    TIME,
    TIMESTAMP,
    SQLType,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
)

Writer = Callable[[Value], str]

json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Any value that JSON has, without spaces."""


class RowWriter:
    """Writes the cells of rows of certain types as a JSON array."""

    def __init__(self, types: Iterable[SQLType]) -> None:
        self._writers = [writer(t) for t in types]

    def __call__(self, values: Sequence[Value]) -> str:
        cells = zip(self._writers, values, strict=True)
        return "[" + ",".join("null" if v is None else write(v) for write, v in cells) + "]"


def writer(t: SQLType) -> Writer:
    """The writer of a type's values; a null is its caller's business."""
    if t in (INT, BIGINT):
        return str
    if t == BOOLEAN:
        return _boolean
    if t == DOUBLE:
        return _double
    if is_decimal(t):
        return _decimal
    if t == BYTES:
        return _bytes
    if t == TIMESTAMP:
        return _timestamp
    if t == TIME:
        return _time
    if t == DATE:
        return _date
    if is_array(t):
        return _array(writer(element_type(t)))
    if is_map(t):
        return _map(writer(element_type(t)))
    if is_struct(t):
        return _struct([(name, writer(kind)) for name, kind in fields(t)])
    return json_text


def _boolean(value: Value) -> str:
    return "true" if value else "false"


def _double(value: Value) -> str:
    assert isinstance(value, (int, float))
    if math.isfinite(value):
        return repr(float(value))
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _decimal(value: Value) -> str:
    return format(value, "f")


def _bytes(value: Value) -> str:
    assert isinstance(value, bytes)
    return f'"{base64.b64encode(value).decode()}"'


def _timestamp(value: Value) -> str:
    assert isinstance(value, datetime.datetime)
    return f'"{value.isoformat(timespec="milliseconds")}"'


def _time(value: Value) -> str:
    assert isinstance(value, datetime.time)
    return f'"{value.isoformat("milliseconds" if value.microsecond else "seconds")}"'


def _date(value: Value) -> str:
    assert isinstance(value, datetime.date)
    return f'"{value.isoformat()}"'


def _array(element: Writer) -> Writer:
    def write(value: Value) -> str:
        assert isinstance(value, list)
        return "[" + ",".join("null" if v is None else element(v) for v in value) + "]"

    return write


def _map(element: Writer) -> Writer:
    def write(value: Value) -> str:
        assert isinstance(value, dict)
        items = (
            f"{json_text(str(k))}:{'null' if v is None else element(v)}" for k, v in value.items()
        )
        return "{" + ",".join(items) + "}"

    return write


def _struct(members: list[tuple[str, Writer]]) -> Writer:
    names = [(name, json_text(name) + ":", write) for name, write in members]

    def write(value: Value) -> str:
        assert isinstance(value, dict)
        items = (
            key + ("null" if (v := value.get(name)) is None else member(v))
            for name, key, member in names
        )
        return "{" + ",".join(items) + "}"

    return write
