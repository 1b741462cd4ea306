"""State schema: the layout of a query's operator state in its checkpoint, without Spark.

State stores are not self-describing. Their content follows from the statement, and from the columns
that optimizer rules keep. A checkpoint therefore stores the layout of each store, and a resumed
query packs the same columns: a rule that prunes more changes nothing, and one that needs another
column is detected before anything is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PACKED = 1
"""The encoding of rows: the bytes of Spark's UnsafeRow; of groups: all aggregates of the plan."""
WITHOUT_ZEROS = 2
"""Of the stores of views: packed rows without their zeros (io.streamsql.views.StoredBytes)."""
PRUNED = 0
"""Of groups in checkpoints without metadata: Spark's selection of the aggregates."""

Columns = tuple[tuple[str, str], ...]
"""Names and types."""


@dataclass(frozen=True)
class StoreLayout:
    """One store: the columns of an entry's key and value, in order."""

    kind: str
    """Of the operator."""
    operator: str
    """The operator in the query's terms."""
    key: Columns
    columns: Columns
    encoding: int = PACKED


@dataclass
class Layouts:
    """The stores of a query while it is being lowered, those nearest to the sources first."""

    kept: tuple[StoreLayout, ...] | None = None
    """Of the checkpoint that it resumes from, if known."""
    begun: bool = False
    """Whether there is such a checkpoint."""
    stores: list[StoreLayout] = field(default_factory=list)

    def add(
        self, kind: str, operator: str, key: Columns, columns: Columns, encoding: int = PACKED
    ) -> None:
        """Adds the next store of an operator."""
        self.stores.append(StoreLayout(kind, operator, key, columns, encoding))

    def next_kept(self, kind: str, ahead: int = 0) -> StoreLayout | None:
        """The checkpoint's layout of the next matching store."""
        place = len(self.stores) + ahead
        if self.kept is None or place >= len(self.kept) or self.kept[place].kind != kind:
            return None
        return self.kept[place]

    def columns(
        self, wanted: Sequence[str], there: Collection[str], kind: str, ahead: int = 0
    ) -> list[str]:
        """The names of a store's columns: the requested ones, or the checkpoint's if these include
        all requested ones and still exist."""
        known = self.next_kept(kind, ahead)
        if known is None:
            return list(wanted)
        names = [name for name, _ in known.columns if not name.startswith(_OWN)]
        fits = set(wanted) <= set(names) and all(name in there for name in names)
        return names if fits else list(wanted)


_OWN = ("$id", "$null", "$foreign_key", "$order")
"""Prefix of columns that an operator adds."""


def names_of(kept: Iterable[StoreLayout]) -> frozenset[str]:
    """All columns that a checkpoint's stores hold."""
    return frozenset(name for store in kept for name, _ in store.columns)


def columns_of_type(row: StructType) -> Columns:
    return tuple((field.name, field.dataType.simpleString()) for field in row.fields)
