"""FileSink: the files that a query writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamsql.catalog import ExternalSink
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.windows import span_text
from streamsql.schema import Schema
from streamsql.types import quote


@dataclass(frozen=True)
class FileSink(RowByRow):
    """Rows written as files of the folder of `target`: those of each `interval_ms` together, in a
    folder for each combination of the values of `partition_by`, which are column names."""

    target: ExternalSink
    partition_by: tuple[str, ...]
    interval_ms: int

    expressions = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def line(self) -> str:
        target, names = self.target, ", ".join(map(quote, self.partition_by))
        by = f", partitioned by {names}" if names else ""
        files = f"{target.format} files in '{target.path}'"
        return f"Sink {quote(target.name)}: {files}{by}, every {span_text(self.interval_ms)}"

    def lineage(self) -> Lineage:
        return self.input.lineage()

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        yield from at.selected(self.input.schema)
        settings = {
            "PATH": self.target.path,
            "FORMAT": self.target.format,
            "PARTITION_BY": ", ".join(self.partition_by) or "nothing",
            "COMMIT_INTERVAL": span_text(self.interval_ms),
        }
        yield from (at.part("WITH", name, text) for name, text in settings.items())
