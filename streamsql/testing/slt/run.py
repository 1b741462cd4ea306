"""Runs the records of a file, and says where the database differs from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamsql.errors import StreamSQLError
from streamsql.testing.slt.records import Record

Rows = Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class Outcome:
    """The text of each value (None: NULL), and how many rows a statement changed."""

    rows: Rows = ()
    count: int | None = None


class Database(Protocol):
    """What runs one statement; StreamSQLError where it fails."""

    def run(self, sql: str) -> Outcome: ...


def differences(records: Iterable[Record], database: Database) -> list[str]:
    """Lines about the first record that did not end as it should; none if all did."""
    for record in records:
        if found := _difference(record, database):
            return [f"{record.place}: {record.sql.splitlines()[0] if record.sql else ''}", *found]
    return []


def _difference(record: Record, database: Database) -> list[str]:
    try:
        outcome = database.run(record.sql)
    except StreamSQLError as error:
        if record.error is None:
            return [str(error.message)]
        if re.search(record.error, error.message) is None:
            return [f"another error than {record.error!r}: {error.message}"]
        return []
    if record.error is not None:
        return ["no error"]
    if record.count is not None and outcome.count != record.count:
        return [f"{outcome.count} rows instead of {record.count}"]
    return [] if record.types is None else _compared(record, outcome.rows)


def _compared(record: Record, rows: Rows) -> list[str]:
    by_value = _is_by_value(record, rows)
    actual = _lines(record, rows, by_value=by_value)
    if record.hashed is not None:
        count, digest = record.hashed
        found = hashlib.md5("".join(f"{line}\n" for line in actual).encode()).hexdigest()
        same = (len(actual), found) == (count, digest)
        return [] if same else [f"{len(actual)} values hashing to {found}"]
    expected = [" ".join(line.split()) for line in record.expected]
    if record.sort == "rowsort" and not by_value:
        expected.sort()
    if actual == expected:
        return []
    return [*(f"- {line}" for line in expected), *(f"+ {line}" for line in actual)]


def _is_by_value(record: Record, rows: Rows) -> bool:
    """Whether each value has a line of its own, as SQLite writes its tests."""
    values = sum(len(row) for row in rows)
    if record.hashed is not None or record.sort == "valuesort":
        return True
    return len(record.expected) == values != len(rows)


def _lines(record: Record, rows: Rows, *, by_value: bool) -> list[str]:
    if not by_value:
        lines = [" ".join(" ".join(_shown(v).split()) for v in row) for row in rows]
        return sorted(lines) if record.sort == "rowsort" else lines
    types = (record.types or "").ljust(max((len(row) for row in rows), default=0), "T")
    cells = [[_typed(v, t) for v, t in zip(row, types, strict=False)] for row in rows]
    if record.sort == "rowsort":
        cells.sort()
    values = [value for row in cells for value in row]
    return sorted(values) if record.sort == "valuesort" else values


def _shown(value: str | None) -> str:
    return "NULL" if value is None else value or "(empty)"


def _typed(value: str | None, kind: str) -> str:
    """As SQLite writes it: whole numbers for I, three digits behind the point for R."""
    if value is None:
        return "NULL"
    try:
        if kind == "I":
            return str(int(float(value)))
        if kind == "R":
            return f"{float(value):.3f}"
    except ValueError:
        pass
    return value or "(empty)"
