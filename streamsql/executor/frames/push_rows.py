"""The rows of a push query on their way through its topic: JSON written by Spark, read here.

A record is an object of the columns, named c0, c1 ... in the order of the schema (the user's names
need not be unique to JSON's rules of letter case), and `tombstone`.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Collection
from decimal import Decimal

from streamsql.errors import InternalError
from streamsql.results import Row, Value
from streamsql.schema import WINDOW_BOUNDS, Column, Namespace, Schema
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
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    to_sql,
)

TOMBSTONE = "tombstone"
BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DATE = datetime.date(1970, 1, 1)


def of_key(column: Column, bounds: Collection[str]) -> bool:
    """Whether a tombstone has a value in the column: the key, and the bounds of its window."""
    return column.namespace is Namespace.KEY or column.name in bounds


def push_columns(schema: Schema) -> tuple[str, ...]:
    """The names of a record's fields; the last one says whether the row is a tombstone."""
    return (*(f"c{i}" for i in range(len(schema))), TOMBSTONE)


def decode_push_row(value: bytes, schema: Schema) -> Row:
    """The row of one record: cells as `results.Value` says, in the order of the schema."""
    record = json.loads(value, parse_float=Decimal)
    cells = (
        _cell(record[name], column.type)
        for name, column in zip(push_columns(schema), schema, strict=False)
    )
    return Row(tuple(cells), bool(record[TOMBSTONE]))


class ShownKeys:
    """Which keys a push query over a filtered table has shown.

    The filter turns every row that fails into a tombstone, not knowing whether the key was there
    before; only one that was is news.
    """

    def __init__(
        self, schema: Schema, bounds: Collection[str] = BOUNDS, limit: int = 1_000_000
    ) -> None:
        self._key = [i for i, c in enumerate(schema) if of_key(c, bounds)]
        self._shown: set[str] = set()
        self._limit = limit
        self._all_known = True

    def is_news(self, row: Row) -> bool:
        """Whether to show the row; remembers that it was. Beyond the limit, everything is news."""
        key = repr([row.values[i] for i in self._key])
        if row.tombstone:
            known = key in self._shown
            self._shown.discard(key)
            return known or not self._all_known
        if len(self._shown) < self._limit:
            self._shown.add(key)
        else:
            self._all_known = False
        return True


def _cell(value: object, t: SQLType) -> Value:
    if value is None:
        return None
    if is_decimal(t):
        return Decimal(str(value))
    if is_array(t):
        assert isinstance(value, list)
        return [_cell(v, element_type(t)) for v in value]
    if is_map(t):
        assert isinstance(value, dict)
        return {k: _cell(v, element_type(t)) for k, v in value.items()}
    if is_struct(t):
        assert isinstance(value, dict)
        return {name: _cell(value.get(name), kind) for name, kind in fields(t)}
    return _PRIMITIVE[to_sql(t)](value)


def _same(value: object) -> Value:
    return value


def _double(value: object) -> Value:
    return float(str(value))


def _bytes(value: object) -> Value:
    return base64.b64decode(str(value))


def _date(value: object) -> Value:
    return _EPOCH_DATE + datetime.timedelta(days=_integer(value))


def _time(value: object) -> Value:
    return (_EPOCH + datetime.timedelta(milliseconds=_integer(value))).time()


def _timestamp(value: object) -> Value:
    return _EPOCH + datetime.timedelta(milliseconds=_integer(value))


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise InternalError(f"not a whole number in a push query's row: {value!r}")
    return value


_PRIMITIVE: dict[str, Callable[[object], Value]] = {
    to_sql(BOOLEAN): _same,
    to_sql(INT): _same,
    to_sql(BIGINT): _same,
    to_sql(DOUBLE): _double,
    to_sql(STRING): _same,
    to_sql(BYTES): _bytes,
    to_sql(DATE): _date,
    to_sql(TIME): _time,
    to_sql(TIMESTAMP): _timestamp,
}
