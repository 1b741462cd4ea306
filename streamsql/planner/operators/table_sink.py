"""TableSink: the rows of a table outside Kafka that a query writes."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators.export import Export
from streamsql.planner.operators.operator import Deletions
from streamsql.types import quote


@dataclass(frozen=True)
class TableSink(Export):
    """Rows of the table of `target`: replaced and deleted by the columns `keys`, or only appended
    if there are none. The offsets that the table names are those of `topic`."""

    topic: str
    keys: tuple[str, ...]

    read_as = "table"
    deletions = Deletions.WRITTEN

    @property
    def mode(self) -> str:
        """`APPEND`, or `UPSERT` with the columns of the key."""
        names = ", ".join(map(quote, self.keys))
        return f"{self.target.format} by {names}" if names else self.target.format
