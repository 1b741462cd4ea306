"""The route of a pull query: served tables' stores or Spark's batch engine.

A route bounds the rows to read; the query's own filter decides about each of them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.results import Value


@dataclass(frozen=True)
class WindowRange:
    """Bounds of a windowed key's window, inclusive, in ms since the epoch; None: any."""

    start_from: int | None = None
    start_to: int | None = None
    end_from: int | None = None
    end_to: int | None = None


@dataclass(frozen=True)
class KeyLookup:
    """The rows of given keys: each a value per key column, in their order, of their types.

    Of a windowed table all windows of those keys that lie within `window`.
    """

    keys: tuple[tuple[Value, ...], ...]
    window: WindowRange | None = None


@dataclass(frozen=True)
class KeyRange:
    """The rows whose only key column, a STRING, is in the range; None: unbounded."""

    low: str | None = None
    high: str | None = None
    low_inclusive: bool = True
    high_inclusive: bool = True
    window: WindowRange | None = None


@dataclass(frozen=True)
class TableScan:
    """All rows of the table, or of those within `window`."""

    window: WindowRange | None = None


@dataclass(frozen=True)
class StoredTables:
    """All rows of served tables, for a query beyond a filter and a projection."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """Spark reads the topics from the beginning to their current ends; `reason` says why."""

    reason: str


Route = KeyLookup | KeyRange | TableScan | StoredTables | Batch
