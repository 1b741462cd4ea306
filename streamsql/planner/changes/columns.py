"""Changes of value columns with which existing records stay readable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from streamsql.catalog import Source
from streamsql.schema import Column
from streamsql.types import BIGINT, DOUBLE, INT, SQLType, is_decimal, precision_scale


class _Found(Enum):
    """How a format finds the field of a column in a record."""

    BY_NAME = auto()
    BY_NUMBER = auto()
    BY_PLACE = auto()


_FOUND = {
    "JSON": _Found.BY_NAME,
    "JSON_SR": _Found.BY_NAME,
    "AVRO": _Found.BY_NAME,
    "PROTOBUF": _Found.BY_NUMBER,
    "PROTOBUF_NOSR": _Found.BY_NUMBER,
    "DELIMITED": _Found.BY_PLACE,
}
"""Formats that are missing here allow no change: KAFKA's values are bytes of one type."""

_TEXT = frozenset({"JSON", "JSON_SR", "DELIMITED"})
"""Formats whose numbers are digits. AVRO promotes an int to a long or a double (its specification,
"Schema Resolution"), PROTOBUF's numbers of 32 and 64 bits are the same bytes, and no others are."""


@dataclass(frozen=True)
class ColumnChange:
    """A changed or dropped column."""

    before: Column
    after: Column | None

    def __str__(self) -> str:
        return f"{self.before} gone" if self.after is None else f"{self.before}, now {self.after}"

    @property
    def effect(self) -> str:
        if self.after is None:
            return "no query uses it; existing records still contain it"
        if self.before.name != self.after.name:
            return "no query uses it; existing records have its values at this position"
        return "no query uses it; existing records are read as the wider type"


@dataclass(frozen=True)
class Upgrade:
    """The effect of a change of value columns whose records are not rewritten."""

    changes: tuple[ColumnChange, ...]
    added: tuple[Column, ...]
    """At the end: null in existing records."""


def upgrade(old: Source, new: Source) -> Upgrade | None:
    """The effect on the value columns if the new ones can read all records of the old ones, else
    None."""
    if old.topic.value_format != new.topic.value_format or old.schema.key != new.schema.key:
        return None
    value_format = old.topic.value_format.name
    was, now = other_columns(old), other_columns(new)
    if not now:
        return None
    by_name = _FOUND.get(value_format) is _Found.BY_NAME
    pairs = _paired_by_name(was, now) if by_name else _paired_by_place(was, now)
    changes = tuple(ColumnChange(*pair) for pair in pairs if pair[0] != pair[1])
    kept = tuple(after for _, after in pairs if after is not None)
    if now[: len(kept)] != kept or not all(_fits(change, value_format) for change in changes):
        return None
    return Upgrade(changes, now[len(kept) :])


def other_columns(source: Source) -> tuple[Column, ...]:
    return tuple(c for c in source.schema.columns if c not in source.schema.key)


def _paired_by_name(
    was: tuple[Column, ...], now: tuple[Column, ...]
) -> list[tuple[Column, Column | None]]:
    names = {column.name: column for column in now}
    return [(column, names.get(column.name)) for column in was]


def _paired_by_place(
    was: tuple[Column, ...], now: tuple[Column, ...]
) -> list[tuple[Column, Column | None]]:
    return [(column, now[i] if i < len(now) else None) for i, column in enumerate(was)]


def _fits(change: ColumnChange, value_format: str) -> bool:
    before, after = change.before, change.after
    found = _FOUND.get(value_format)
    if found is None:
        return False
    if after is None:
        return found is not _Found.BY_PLACE
    if (before.namespace, before.header) != (after.namespace, after.header):
        return False
    if before.name != after.name and found is not _Found.BY_PLACE:
        return False
    return before.type == after.type or _is_read_as(before.type, after.type, value_format)


def _is_read_as(before: SQLType, after: SQLType, value_format: str) -> bool:
    """Whether a number written as one type is read as the same number by the other."""
    if before == INT and after == BIGINT:
        return True
    if before == INT and after == DOUBLE:
        return value_format in _TEXT or value_format == "AVRO"
    if value_format not in _TEXT or not is_decimal(after):
        return False
    if not is_decimal(before) and before not in (INT, BIGINT):
        return False
    (precision, scale), (digits, behind) = precision_scale(after), precision_scale(before)
    return scale >= behind and precision - scale >= digits - behind
