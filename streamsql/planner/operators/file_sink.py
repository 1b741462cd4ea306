"""FileSink: the files that a query writes."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import ExternalSink
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, RowByRow
from streamsql.planner.windows import duration, words
from streamsql.schema import Schema
from streamsql.types import quote


@dataclass(frozen=True)
class FileSink(RowByRow):
    """Rows written as files of the folder of `target`: those of each `interval_ms` together, in a
    folder for each combination of the values of `partition_by`, which name columns."""

    target: ExternalSink
    partition_by: tuple[str, ...]
    interval_ms: int

    @property
    def schema(self) -> Schema:
        """The columns of the files."""
        return self.input.schema

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return ()

    @property
    def line(self) -> str:
        target, names = self.target, ", ".join(map(quote, self.partition_by))
        by = f", partitioned by {names}" if names else ""
        files = f"{target.format} files in '{target.path}'"
        return f"Sink {quote(target.name)}: {files}{by}, every {words(duration(self.interval_ms))}"

    def lineage(self) -> Lineage:
        return self.input.lineage()
