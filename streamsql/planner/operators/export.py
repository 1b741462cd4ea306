"""Export: what a query writes outside Kafka."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamsql.catalog import ExternalSink
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.windows import span_text
from streamsql.schema import Schema


@dataclass(frozen=True)
class Export(RowByRow):
    """Rows written to `target`: those of each `interval_ms` together."""

    target: ExternalSink
    interval_ms: int

    expressions = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The properties of WITH that CREATE OR REPLACE can change, but for the interval."""

    @property
    @abstractmethod
    def read_as(self) -> str:
        """What readers read: `files`, `table`."""

    def lineage(self) -> Lineage:
        return self.input.lineage()

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        yield from at.selected(self.schema)
        settings = {"CONNECTION": self.target.connection, **self.settings}
        settings |= {"COMMIT_INTERVAL": span_text(self.interval_ms)}
        yield from (at.part("WITH", name, text) for name, text in settings.items())
