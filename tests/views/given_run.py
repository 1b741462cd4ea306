"""Views over batches that are handed to their dataflow: without topics, many batches a second."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType
from views.view_run import Row, ViewRun

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.relational.bounded import Evaluation
from streamsql.executor.spark.types import spark_type
from streamsql.kafka.records import NewRecord
from streamsql.nodes import Emit
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.relational.algebra import RelationalPlan
from streamsql.test_driver.fixture import Fixture

GivenRecord = list[str | None]
"""Topic, key and value."""
Result = tuple[str, dict[str, Any] | None]
"""Key and value of a record of the view."""


class GivenDataflow:
    """The dataflow of a view, batch by batch."""

    def __init__(self, fixture: Fixture, plan: QueryPlan, prefix: str, partitions: int = 2) -> None:
        self._spark = cast(Any, fixture.spark)
        spec = lower(plan, replace(fixture.context(prefix), shuffle_partitions=partitions))
        assert spec.view is not None
        self._dataflow, self._checkpoint = spec.view, str(spec.checkpoint)
        self._number = 0
        self.restart()

    def batch(self, records: list[GivenRecord]) -> list[Result]:
        found = self._results(records)
        self._number += 1
        return found

    def repeat(self, records: list[GivenRecord]) -> None:
        """The process ends when the batch has written its stores, and before Spark knows of it."""
        first = self._results(records)
        self.restart()
        again = self._results(records)
        assert sorted(map(repr, first)) == sorted(map(repr, again)), "a repeated batch differs"

    def restart(self) -> None:
        """The next batch finds its state in the checkpoint."""
        # In a process that has ended, no maintenance deletes what the next one reads.
        self._stores().stop()
        views = self._spark._jvm.io.streamsql.views
        session = self._spark._jsparkSession
        self._run = views.GivenBatches(session, self._dataflow.java, self._checkpoint)

    def close(self) -> None:
        """Spark keeps stores open for runs that it does not know to have ended."""
        self._stores().stop()
        shutil.rmtree(self._checkpoint.removeprefix("file:"), ignore_errors=True)

    def _stores(self) -> Any:
        state = self._spark._jvm.org.apache.spark.sql.execution.streaming.state
        return getattr(getattr(state, "StateStore$"), "MODULE$")

    def _results(self, records: list[GivenRecord]) -> list[Result]:
        # Both ways read the stores of the other. Stages take ten times as long.
        is_small = self._number % 32 != 5
        found = json.loads(self._run.run(self._number, json.dumps(records), 0, is_small))
        return [(key, None if value is None else json.loads(value)) for key, value in found]


@dataclass
class GivenRun(ViewRun):
    """A view whose batches are what was written between two flushes."""

    partitions: int = 1
    """Of the state of each operator."""
    _waiting: list[GivenRecord] = field(default_factory=list)
    _results: list[Result] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._dataflow = GivenDataflow(
            self.fixture, self.query_plan(), self.prefix, self.partitions
        )

    def _create_topics(self) -> None:
        pass

    def _deliver(self, records: list[tuple[str, NewRecord]]) -> None:
        for topic, record in records:
            key = None if record.key is None else record.key.decode()
            value = None if record.value is None else record.value.decode()
            self._waiting.append([topic, key, value])

    def flush(self) -> None:
        self._results += self._dataflow.batch(self._waiting)
        self._waiting = []

    def repeat(self) -> None:
        self._dataflow.repeat(self._waiting)

    def stop(self) -> None:
        self._dataflow.restart()

    def pulled(self, plan: RelationalPlan) -> list[Row]:
        """The answer of a pull query over the present rows."""
        scope = Scope(
            self.fixture.context(self.prefix),
            "pull",
            Emit.CHANGES,
            self.view,
            needed_columns(self.view),
        )
        sources = {}
        for table in self.tables:
            kinds = [StructField(name, spark_type(kind)) for name, kind in table.columns.items()]
            schema = StructType(kinds)
            rows = [
                dict(zip(table.columns, row, strict=True))
                for row in self._rows[table.name].values()
            ]
            # Rows of Arrow take no Python process, which rows of Python do for each partition.
            given = pa.Table.from_pylist(rows, to_arrow_schema(schema))
            sources[table.name] = self.fixture.spark.createDataFrame(given, schema)
        found = Evaluation(scope, sources).rows(plan.root)
        cells = (quoted(field.id) for field in plan.output)
        return [tuple(row) for row in found.select(*cells).collect()]

    def close(self) -> None:
        self._dataflow.close()
        self._database.close()

    def records(self) -> list[Result]:
        return self._results
