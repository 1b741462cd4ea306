"""DatabaseSink: the rows of a database's table that a query writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.planner.operators.table_sink import TableSink
from streamsql.planner.windows import span_text
from streamsql.types import quote


@dataclass(frozen=True)
class DatabaseSink(TableSink):
    """At most `rows` in a transaction."""

    rows: int

    @property
    def line(self) -> str:
        target = self.target
        table = f"table {target.table} of {target.path}"
        return (
            f"Sink {quote(target.name)}: {table}, {self.mode}, every {span_text(self.interval_ms)}"
        )

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
