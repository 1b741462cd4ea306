"""What PostgreSQL's logical decoding says of transactions: the messages of its plugin `pgoutput`.

PostgreSQL's manual, "Logical Replication Message Formats", protocol version 1: transactions come as
a whole, in the order of their commits, and only those that were committed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum
from typing import Literal

EPOCH_US = 946_684_800_000_000
"""PostgreSQL's epoch, 2000-01-01, in microseconds since 1970."""


class Unchanged(Enum):
    """The placeholder of a value that is stored out of line (TOAST) and has not changed."""

    UNCHANGED = "unchanged"


Value = str | Unchanged | None
Tuple = tuple[Value, ...]
"""A row's values as text."""


@dataclass(frozen=True)
class RelationColumn:
    """A column of a table in the stream."""

    name: str
    type: int
    """Its type's OID."""
    modifier: int
    """Of a numeric: precision and scale."""
    is_key: bool
    """Whether it is part of the replica identity, which is all columns with FULL."""


@dataclass(frozen=True)
class Relation:
    """A table; sent before its first row."""

    oid: int
    schema: str
    name: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True)
class Begin:
    """A transaction begins."""

    lsn: int
    """The place of its commit in the log."""
    time_us: int
    """Of its commit, since 1970."""
    xid: int


@dataclass(frozen=True)
class Commit:
    """A transaction ends."""

    end: int
    """The place in the log (LSN) behind it."""


@dataclass(frozen=True)
class RowChange:
    """A row is inserted (no `old`), updated or deleted (no `new`).

    An update has the `old` row only if its replica identity has changed, or is FULL; but for FULL
    the columns of the old row that are not in the replica identity are None.
    """

    relation: Relation
    op: Literal["c", "u", "d"]
    """Created, updated, deleted."""
    old: Tuple | None
    new: Tuple | None


@dataclass(frozen=True)
class Truncate:
    """Tables are emptied."""

    relations: tuple[Relation, ...]


Message = Relation | Begin | Commit | RowChange | Truncate


class Decoder:
    """Decodes the messages of one session, in their order: rows refer to relations by number."""

    def __init__(self) -> None:
        self._relations: dict[int, Relation] = {}

    def decode(self, data: bytes) -> Message | None:
        """The message; None for one that is of no matter to rows (types, origins)."""
        reader = _Reader(data)
        match reader.letter():
            case "B":
                lsn, time_us, xid = reader.take(">qqi")
                return Begin(lsn, time_us + EPOCH_US, xid)
            case "C":
                _, _, end, _ = reader.take(">bqqq")
                return Commit(end)
            case "R":
                relation = reader.relation()
                self._relations[relation.oid] = relation
                return relation
            case "I":
                return self._row_change("c", reader)
            case "U":
                return self._row_change("u", reader)
            case "D":
                return self._row_change("d", reader)
            case "T":
                count, _ = reader.take(">ib")
                return Truncate(tuple(self._relation(reader) for _ in range(count)))
            case "Y" | "O":
                return None
            case kind:
                raise ValueError(f"no message of pgoutput's, version 1: {kind}")

    def _relation(self, reader: _Reader) -> Relation:
        (oid,) = reader.take(">i")
        return self._relations[oid]

    def _row_change(self, op: Literal["c", "u", "d"], reader: _Reader) -> RowChange:
        relation = self._relation(reader)
        old = new = None
        while not reader.ended:
            if reader.letter() == "N":
                new = reader.tuple()
            else:  # K: only the replica identity's columns; O: all
                old = reader.tuple()
        return RowChange(relation, op, old, new)


class _Reader:
    """Takes a message's parts one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def ended(self) -> bool:
        return self._place == len(self._data)

    def take(self, form: str) -> tuple[int, ...]:
        """Numbers of the form that `struct` knows."""
        found: tuple[int, ...] = struct.unpack_from(form, self._data, self._place)
        self._place += struct.calcsize(form)
        return found

    def letter(self) -> str:
        return chr(self.take(">B")[0])

    def string(self) -> str:
        end = self._data.index(0, self._place)
        text = self._data[self._place : end].decode()
        self._place = end + 1
        return text

    def relation(self) -> Relation:
        (oid,) = self.take(">i")
        schema, name = self.string(), self.string()
        _, count = self.take(">bh")
        return Relation(oid, schema, name, tuple(self._column() for _ in range(count)))

    def _column(self) -> RelationColumn:
        (flags,) = self.take(">b")
        name = self.string()
        kind, modifier = self.take(">ii")
        return RelationColumn(name, kind, modifier, bool(flags & 1))

    def tuple(self) -> Tuple:
        (count,) = self.take(">h")
        return tuple(self._value() for _ in range(count))

    def _value(self) -> Value:
        match self.letter():
            case "n":
                return None
            case "u":
                return Unchanged.UNCHANGED
            case "t":
                (size,) = self.take(">i")
                self._place += size
                return self._data[self._place - size : self._place].decode()
            case kind:
                raise ValueError(f"no value as text: {kind}")
