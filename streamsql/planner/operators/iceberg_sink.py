"""IcebergSink: the rows of a table of Iceberg that a query writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.planner.operators.table_sink import TableSink
from streamsql.planner.windows import span_text
from streamsql.types import quote


@dataclass(frozen=True)
class PartitionTransform:
    """A value of `column` by which rows are partitioned; `width` of bucket and truncate, else 0."""

    name: str
    column: str
    width: int = 0

    @property
    def text(self) -> str:
        if self.name == "identity":
            return quote(self.column)
        width = f"{self.width}, " if self.width else ""
        return f"{self.name}({width}{quote(self.column)})"


@dataclass(frozen=True)
class IcebergSink(TableSink):
    """`url` is that of a catalog in a database; `retention_ms` 0 if not given."""

    catalog: str
    url: str
    partition_by: tuple[PartitionTransform, ...]
    retention_ms: int

    @property
    def line(self) -> str:
        target = self.target
        by = f", partitioned by {self._partitioning}" if self.partition_by else ""
        catalog = f"{self.catalog} catalog {self.url}" if self.url else f"{self.catalog} catalog"
        return (
            f"Sink {quote(target.name)}: Iceberg table {target.table} in '{target.path}', "
            f"{catalog}, {self.mode}{by}, every {span_text(self.interval_ms)}"
        )

    @property
    def settings(self) -> Mapping[str, str]:
        target = self.target
        return {
            "CATALOG": self.catalog,
            "WAREHOUSE": target.path,
            "URL": self.url or "none",
            "TABLE": target.table,
            "MODE": target.format,
            "USER": target.user or "none",
            "PASSWORD": target.password or "none",
            "PARTITION_BY": self._partitioning or "nothing",
            "SNAPSHOT_RETENTION": span_text(self.retention_ms) if self.retention_ms else "default",
        }

    @property
    def _partitioning(self) -> str:
        return ", ".join(transform.text for transform in self.partition_by)
