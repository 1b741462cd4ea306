"""Where the micro-batches of a query over several topics end while it catches up.

Within a batch rows are taken by their event times, whatever topic they come from. Of more records
than a batch takes, each batch is therefore to have those of all topics up to the same time: see
io.streamsql.source.TimeSteps.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from streamsql.errors import StreamSQLError
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.executor.spark.java_maps import java_map
from streamsql.planner.plans.logical import Scan
from streamsql.planner.plans.modes import operators

if TYPE_CHECKING:
    from streamsql.executor.frames.context import LoweringContext
    from streamsql.planner.plans.logical import QueryPlan

_log = logging.getLogger("streamsql.queries")
Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition."""


def read_in_steps(
    plan: QueryPlan,
    query_id: str,
    context: LoweringContext,
    span: tuple[Offsets, Offsets],
    most: int,
) -> None:
    """Have the query's next run over what is there end its batches, of at most about `most`
    records, at times; `span` is from where to where it reads."""
    until = cast(Any, context.spark)._jvm.io.streamsql.source.ReadUntil
    try:
        until.inSteps(query_id, _steps(plan, context, span, most))
    except (*JVM_FAILURES, StreamSQLError) as error:
        # It catches up all the same, with as many records of each topic in a batch.
        _log.warning("%s catches up without the order of time: %s", query_id, error)


def _steps(
    plan: QueryPlan, context: LoweringContext, span: tuple[Offsets, Offsets], most: int
) -> Any:
    from streamsql.executor.lowering.compiled_plan import event_times

    jvm = cast(Any, context.spark)._jvm
    clocks = {
        scan.source.topic.name: event_times(scan.source, context)
        for scan in operators(plan.root)
        if isinstance(scan, Scan) and scan.source.timestamp is not None
    }
    settings = java_map(jvm, context.reading_settings)
    starts, ends = (json.dumps(positions) for positions in span)
    return jvm.io.streamsql.source.TimeSteps.of(settings, java_map(jvm, clocks), starts, ends, most)
