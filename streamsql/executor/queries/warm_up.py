"""Makes the JVM load and compile the code of queries while none runs.

An internal query over records in memory, without output, takes all steps of a query, in
micro-batches and in real time. It commits far more often than others do: the code between two
batches would otherwise be compiled last, while records wait.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from streamsql.errors import StreamSQLError
from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.queries.start import configured
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import SPARK_FAILURES
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.waiting import await_condition

_MICRO_BATCHES = 4
_REAL_TIME_BATCHES = 13
_INTERVAL_MS = 200
_MOST_SECONDS = 60.0
_SEND_SECONDS = 0.02
_SENT_AT_A_TIME = 20


@dataclass(frozen=True)
class Sample:
    """A query with one source, and a template of its records, in which `%d` is a number."""

    plan: QueryPlan
    key: str
    value: str


def warm_up(sample: Sample, context: LoweringContext, wanted: Callable[[], bool]) -> int:
    """Takes some seconds, or until it is no longer wanted; returns the number of batches. A failure
    affects no other query."""
    batches = 0
    folder = Path(tempfile.mkdtemp(prefix="streamsql-warm-up-"))
    try:
        with suppress(StreamSQLError, *SPARK_FAILURES):
            run = _Run(sample, context, folder, wanted)
            batches = run.batches(_MICRO_BATCHES, None)
            interval = f"{_INTERVAL_MS} milliseconds"
            batches = run.batches(_MICRO_BATCHES + _REAL_TIME_BATCHES, interval)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return batches


class _Run:
    def __init__(
        self, sample: Sample, context: LoweringContext, folder: Path, wanted: Callable[[], bool]
    ) -> None:
        self._sample, self._wanted = sample, wanted
        self._java = Bridge.of(context.spark).warm_up()
        self._batches = 0
        self._context = replace(context, records=self._records, checkpoint_folder=folder)

    def _records(self, topic: str) -> DataFrame:
        return ClassicDataFrame(self._java.records(), self._context.spark)

    def batches(self, number: int, interval: str | None) -> int:
        """Until this number has run; `interval` is that of commits in real time, None:
        micro-batches."""
        if not self._wanted():
            return self._batches
        spec = lower(self._sample.plan, self._context)
        settings = {
            "spark.sql.shuffle.partitions": str(spec.shuffle_partitions),
            "spark.sql.streaming.realTimeMode.minBatchDuration": str(_INTERVAL_MS),
        }
        frame = cast(Any, spec.frame)._jdf
        with configured(self._context.spark, settings):
            query = self._java.start(frame, spec.output_mode, str(spec.checkpoint), interval)
        try:
            await_condition(
                lambda: not self._is_running(query) or _finished(query) >= number,
                _MOST_SECONDS,
                every=_SEND_SECONDS,
            )
        finally:
            self._batches = _finished(query)
            query.stop()
        return self._batches

    def _is_running(self, query: Any) -> bool:
        self._java.send(_SENT_AT_A_TIME, self._sample.key, self._sample.value)
        return bool(query.isActive()) and self._wanted()


def _finished(query: Any) -> int:
    progress = query.lastProgress()
    return 0 if progress is None else int(progress.batchId()) + 1
