"""The batch ends of a query over several topics during catch-up.

Within a batch rows are ordered by event time across topics. If there are more records than a batch
takes, each batch therefore has to include those of all topics up to the same time: see
io.streamsql.source.TimeSteps.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from streamsql.errors import StreamSQLError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.kafka.positions import distance
from streamsql.planner.operators import Scan, operators

if TYPE_CHECKING:
    from streamsql.executor.frames.context import LoweringContext
    from streamsql.kafka.client import KafkaClient
    from streamsql.kafka.positions import Positions
    from streamsql.planner.plans.query_plan import QueryPlan

_log = logging.getLogger("streamsql.queries")


def read_in_steps(
    plan: QueryPlan,
    query_id: str,
    context: LoweringContext,
    begin: Positions,
    client: KafkaClient,
) -> None:
    """Makes the batches of the query's next run, which reads existing records from `begin`, end at
    common times, if they exceed the context's batch size."""
    end = {topic: client.end_offsets(topic) for topic in begin}
    most = context.max_records_per_batch
    if most is None or distance(begin, end) <= most:
        return
    bridge, settings = Bridge.of(context.spark), context.reading_settings
    try:
        bridge.read_in_steps(query_id, settings, _clocks(plan, context), begin, end, most)
    except (*JVM_FAILURES, StreamSQLError) as error:
        # It catches up nevertheless, with as many records of each topic per batch.
        _log.warning("%s catches up without ordering its topics by time: %s", query_id, error)


def _clocks(plan: QueryPlan, context: LoweringContext) -> dict[str, Any]:
    """The event-time expressions by topic, for topics that do not use Kafka's timestamps."""
    from streamsql.executor.lowering.compiled_plan import event_times

    scans = (node for node in operators(plan.root) if isinstance(node, Scan))
    return {
        scan.source.topic.name: event_times(scan.source, context)
        for scan in scans
        if scan.source.timestamp is not None
    }
