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
from streamsql.planner.operators import (
    Aggregate,
    Derived,
    Distinct,
    FileSink,
    Filter,
    FlatMap,
    Join,
    Limit,
    LookupJoin,
    Match,
    Operator,
    Over,
    Project,
    Qualify,
    Repartition,
    Scan,
    SetOperation,
    Sink,
    TopN,
    Union,
    Values,
)

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
