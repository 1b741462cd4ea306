"""The options of the sources of a query that goes through epochs (io.streamsql.source)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streamsql.config import EPOCHS_TOPIC
from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.spark.jvm import producer_settings
from streamsql.planner.operators import Operator, Scan, Sink, operators


def of_view(root: Operator, context: LoweringContext) -> dict[str, str]:
    """Of a view, which takes part in them: ViewEpochs. It reads topics, and writes its own."""
    scans = [operator.source for operator in operators(root) if isinstance(operator, Scan)]
    if not isinstance(root, Sink) or context.muted is not None or not scans:
        return {}
    view = {"topic": root.target.topic.name, "freshness": context.freshness_ms}
    return _options(view, root, context)


def of_push(
    root: Operator, topic: str, context: LoweringContext, *, progress: bool
) -> dict[str, str]:
    """Of a push query, which follows those of views: PushEpochs. `progress`: with marks also of
    epochs without news."""
    return _options({"push": topic, "progress": progress}, root, context)


def _options(query: Mapping[str, Any], root: Operator, context: LoweringContext) -> dict[str, str]:
    scans = [operator.source for operator in operators(root) if isinstance(operator, Scan)]
    inputs = sorted({source.topic.name for source in scans if source.is_view})
    producer = {
        **producer_settings(context.bootstrap_servers, "realtime"),
        **context.producer_settings,
        **context.lease,
    }
    prefixed = {f"streamsql.epochs.producer.{name}": value for name, value in producer.items()}
    whole = {**query, "inputs": inputs, "log": EPOCHS_TOPIC}
    return {"streamsql.epochs": json.dumps(whole), **prefixed}
