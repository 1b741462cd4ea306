"""DatabaseSink: the rows of a database's table that a query writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.planner.operators.export import Export
from streamsql.planner.operators.operator import Deletions
from streamsql.planner.windows import span_text
from streamsql.types import quote


@dataclass(frozen=True)
class DatabaseSink(Export):
    """Rows of the table of `target`: replaced and deleted by the columns `keys`, or only appended
    if there are none; at most `rows` in a transaction."""

    topic: str
    keys: tuple[str, ...]
    rows: int

    read_as = "table"
    deletions = Deletions.WRITTEN

    @property
    def line(self) -> str:
        target, names = self.target, ", ".join(map(quote, self.keys))
        how = f"{target.format} by {names}" if names else target.format
        table = f"table {target.table} of {target.path}"
        return f"Sink {quote(target.name)}: {table}, {how}, every {span_text(self.interval_ms)}"

    @property
    def settings(self) -> Mapping[str, str]:
        target = self.target
        return {
            "URL": target.path,
            "TABLE": target.table,
            "MODE": target.format,
            "USER": target.user or "none",
            "PASSWORD": target.password or "none",
            "BATCH_ROWS": str(self.rows),
        }
