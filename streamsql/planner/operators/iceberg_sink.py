"""IcebergSink: the rows of a table of Iceberg that a query writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.operators.table_sink import TableSink
from streamsql.planner.windows import span_text
from streamsql.schema import Schema
from streamsql.types import quote

_FOLDED = re.compile(r"[A-Z_][A-Z0-9_]*")


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
class TableColumn:
    """A column of the source, and its name in the table."""

    name: str
    there: str

    @property
    def text(self) -> str:
        same = self.there == name_in_table(self.name)
        return quote(self.name) if same else f"{quote(self.name)} AS {self.there}"


def name_in_table(name: str) -> str:
    """Names are in upper case here and in lower case there, unless they were quoted."""
    return name.lower() if _FOLDED.fullmatch(name) else name


@dataclass(frozen=True)
class IcebergSink(TableSink):
    """`url` is that of a database or a server which is the catalog; `retention_ms` 0 if not given.
    Of the columns of the table that the sink no longer writes, `dropped` are dropped, and `kept`
    are known to be others than those that it adds."""

    catalog: str
    url: str
    partition_by: tuple[PartitionTransform, ...]
    retention_ms: int
    columns: tuple[TableColumn, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        written = {column.name for column in self.columns}
        return Schema(tuple(c for c in self.input.schema if c.name in written))

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from super().parts(at)
        for column in self.columns:
            yield at.part("COLUMNS", column.name, quote(column.there))
        for name in self.dropped:
            yield at.part("DROP_COLUMNS", name, quote(name))

    @property
    def line(self) -> str:
        target = self.target
        by = f", partitioned by {self._partitioning}" if self.partition_by else ""
        catalog = f"{self.catalog} catalog {self.url}" if self.url else f"{self.catalog} catalog"
        warehouse = f" in '{target.path}'" if target.path else ""
        return (
            f"Sink {quote(target.name)}: Iceberg table {target.table}{warehouse}, {catalog}, "
            f"{self.mode}{by}{self._listed}, every {span_text(self.interval_ms)}"
        )

    @property
    def settings(self) -> Mapping[str, str]:
        target = self.target
        return {
            "CATALOG": self.catalog,
            "WAREHOUSE": target.path or "none",
            "URL": self.url or "none",
            "TABLE": target.table,
            "MODE": target.format,
            "USER": target.user or "none",
            "PASSWORD": target.password or "none",
            "PARTITION_BY": self._partitioning or "nothing",
            "KEEP_COLUMNS": ", ".join(self.kept) or "nothing",
            "SNAPSHOT_RETENTION": span_text(self.retention_ms) if self.retention_ms else "default",
        }

    @property
    def _listed(self) -> str:
        """The columns, unless they are those of the source."""
        all_ = [quote(column.name) for column in self.input.schema]
        texts = [column.text for column in self.columns]
        return "" if texts == all_ else f", columns {', '.join(texts)}"

    @property
    def _partitioning(self) -> str:
        return ", ".join(transform.text for transform in self.partition_by)
