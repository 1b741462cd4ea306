"""FileSink: the files that a query writes."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import ExternalSink
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class FileSink(Operator):
    """Rows written as files of the folder of `target`: those of each `interval_ms` together, in a
    folder for each combination of the values of `partition_by`, which name columns."""

    input: Operator
    target: ExternalSink
    partition_by: tuple[str, ...]
    interval_ms: int

    @property
    def schema(self) -> Schema:
        """The columns of the files."""
        return self.input.schema
