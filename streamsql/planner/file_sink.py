"""The operator that writes a stream's rows as files."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import ExternalSink
from streamsql.planner.plans.logical import LogicalPlan
from streamsql.schema import Schema


@dataclass(frozen=True)
class FileSink(LogicalPlan):
    """Rows written as files of the folder of `target`: those of each `interval_ms` together, in a
    folder for each combination of the values of `partition_by`, which name columns."""

    input: LogicalPlan
    target: ExternalSink
    partition_by: tuple[str, ...]
    interval_ms: int

    @property
    def schema(self) -> Schema:
        return self.input.schema
