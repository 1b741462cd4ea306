"""Rows' changes as Debezium's PostgreSQL connector writes them, in JSON without schemas.

`decimal.handling.mode` is `precise`, `time.precision.mode` is `adaptive`: decimals are the bytes of
their digits in base64, times without a zone are numbers of microseconds, those with one are text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

from capture.pgoutput import Begin, Relation, RelationColumn, RowChange, Truncate, Tuple, Unchanged

UNAVAILABLE = "__debezium_unavailable_value"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Record = tuple[bytes | None, bytes | None]
"""Key and value."""


class Oid(IntEnum):
    """Types of PostgreSQL's whose values are not written as their text."""

    BOOL = 16
    INT8 = 20
    INT4 = 23
    TIMESTAMP = 1114
    TIMESTAMPTZ = 1184
    NUMERIC = 1700


@dataclass(frozen=True)
class Place:
    """Where a change stands in the database's log."""

    lsn: int
    begin: Begin


def records(change: RowChange | Truncate, keys: tuple[str, ...], place: Place) -> Iterator[Record]:
    """The records of a change; `keys` are the columns of the primary key.

    A deletion is followed by a tombstone. A key that changes is a deletion of the old one and a
    creation of the new one.
    """
    if isinstance(change, Truncate):
        for relation in change.relations:
            yield None, _envelope("t", None, None, relation, place)
        return
    relation = change.relation
    old = None if change.old is None else _row(relation, change.old)
    new = None if change.new is None else _row(relation, _with_old_values(change.new, change.old))
    if old is None or new is None or _key(old, keys) == _key(new, keys):
        yield from _change(change.op, old, new, keys, relation, place)
    else:
        yield from _change("d", old, None, keys, relation, place)
        yield from _change("c", None, new, keys, relation, place)


def _change(
    op: str,
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
    keys: tuple[str, ...],
    relation: Relation,
    place: Place,
) -> Iterator[Record]:
    row = new if new is not None else old
    assert row is not None
    key = _json(_key(row, keys))
    yield key, _envelope(op, old, new, relation, place)
    if op == "d":
        yield key, None


def _key(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in keys}


def _with_old_values(new: Tuple, old: Tuple | None) -> Tuple:
    """What has not changed is that of the old row, where this has it."""
    if old is None:
        return new
    pairs = zip(new, old, strict=True)
    return tuple(o if n is Unchanged.UNCHANGED and o is not None else n for n, o in pairs)


def _row(relation: Relation, values: Tuple) -> dict[str, Any]:
    pairs = zip(relation.columns, values, strict=True)
    return {column.name: _value(column, value) for column, value in pairs}


def _value(column: RelationColumn, value: str | Unchanged | None) -> Any:
    if value is None:
        return None
    if value is Unchanged.UNCHANGED:
        return UNAVAILABLE
    match column.type:
        case Oid.BOOL:
            return value == "t"
        case Oid.INT8 | Oid.INT4:
            return int(value)
        case Oid.NUMERIC:
            return _digits(Decimal(value), (column.modifier - 4) & 0xFFFF)
        case Oid.TIMESTAMP:
            passed = datetime.fromisoformat(value).replace(tzinfo=UTC) - _EPOCH
            return passed.days * 86_400_000_000 + passed.seconds * 1_000_000 + passed.microseconds
        case Oid.TIMESTAMPTZ:  # the session's zone is UTC
            return value.replace(" ", "T").replace("+00", "Z")
    return value


def _digits(number: Decimal, scale: int) -> str:
    unscaled = int(number.scaleb(scale))
    size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def _envelope(
    op: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    relation: Relation,
    place: Place,
) -> bytes:
    time_ms = place.begin.time_us // 1000
    source = {
        "connector": "postgresql",
        "db": "postgres",
        "schema": relation.schema,
        "table": relation.name,
        "txId": place.begin.xid,
        "lsn": place.lsn,
        "ts_ms": time_ms,
    }
    envelope = {"before": before, "after": after, "source": source, "op": op, "ts_ms": time_ms}
    return _json(envelope)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
