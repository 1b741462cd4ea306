"""The lowering of each operator."""

from __future__ import annotations

from typing import Any

from streamsql.executor.operators import (
    aggregate,
    derived,
    distinct,
    file_sink,
    filter,
    flat_map,
    join,
    limit,
    lookup_join,
    match,
    over,
    project,
    qualify,
    repartition,
    scan,
    set_operation,
    sink,
    top_n,
    union,
    values,
)
from streamsql.executor.operators.lowering import Lowering
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.file_sink import FileSink
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.limit import Limit
from streamsql.planner.operators.lookup_join import LookupJoin
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.set_operation import SetOperation
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.union import Union
from streamsql.planner.operators.values import Values

LOWERINGS: dict[type[Operator], Lowering[Any]] = {
    Scan: scan.LOWERING,
    Derived: derived.LOWERING,
    Union: union.LOWERING,
    Distinct: distinct.LOWERING,
    Filter: filter.LOWERING,
    Project: project.LOWERING,
    FlatMap: flat_map.LOWERING,
    Repartition: repartition.LOWERING,
    Qualify: qualify.LOWERING,
    Join: join.LOWERING,
    LookupJoin: lookup_join.LOWERING,
    Aggregate: aggregate.LOWERING,
    TopN: top_n.LOWERING,
    Over: over.LOWERING,
    Match: match.LOWERING,
    Values: values.LOWERING,
    SetOperation: set_operation.LOWERING,
    Limit: limit.LOWERING,
    Sink: sink.LOWERING,
    FileSink: file_sink.LOWERING,
}


def lowering_of(node: Operator) -> Lowering[Any]:
    return LOWERINGS[type(node)]
