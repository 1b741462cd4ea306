"""FileSink: the files that a query writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.planner.operators.export import Export
from streamsql.planner.windows import span_text
from streamsql.types import quote


@dataclass(frozen=True)
class FileSink(Export):
    """Files of the folder of `target`, in a folder for each combination of the values of
    `partition_by`, which are column names."""

    partition_by: tuple[str, ...]

    read_as = "files"

    @property
    def line(self) -> str:
        target, names = self.target, ", ".join(map(quote, self.partition_by))
        by = f", partitioned by {names}" if names else ""
        files = f"{target.format} files in '{target.path}'"
        return f"Sink {quote(target.name)}: {files}{by}, every {span_text(self.interval_ms)}"

    @property
    def settings(self) -> Mapping[str, str]:
        return {
            "PATH": self.target.path,
            "FORMAT": self.target.format,
            "PARTITION_BY": ", ".join(self.partition_by) or "nothing",
        }
