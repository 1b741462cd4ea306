"""Definitions of queries whose plans nothing looks into."""

from __future__ import annotations

from streamsql.catalog import Source
from streamsql.executor.queries.definition import Definition
from streamsql.nodes import Emit
from streamsql.planner.operators import Sink, Values
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.schema import FormatSpec, Kind, Schema, Topic


def definition(
    mode: Mode = Mode.REAL_TIME,
    query_id: str = "Q",
    reads: tuple[str, ...] = ("in",),
    writes: str = "out",
) -> Definition:
    json = FormatSpec("JSON")
    sink = Source("SINK", Kind.STREAM, Schema(()), Topic(writes, json, json))
    root = Sink(Values((), Schema(())), sink)
    plan = QueryPlan(root, ModeDecision(mode, "because"), Emit.CHANGES, ("S",), query_id)
    return Definition(query_id, "CREATE ...", plan, "SINK", reads)
