"""The state that maintaining a relation takes, for EXPLAIN: docs/design/views.md."""

from __future__ import annotations

from collections.abc import Iterator

from streamsql.planner.operators.operator import StateStore
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    ClosedRows,
    Field,
    Growth,
    Join,
    Pairs,
    Relation,
    RelationalPlan,
    Scan,
    SetOperation,
    TemporalFilter,
    TemporalJoin,
    TopRows,
    WindowFunctions,
    relations,
)
from streamsql.planner.relational.growth import only_grows
from streamsql.types import quote


def stores_of(plan: RelationalPlan) -> tuple[StateStore, ...]:
    """Those of each operator, nearest to the result first, and of the result itself."""
    found = list(_of_result(plan))
    for each in dict.fromkeys(relations(plan.root)):
        found += _of(each)
    return tuple(dict.fromkeys(found))


def _of_result(plan: RelationalPlan) -> Iterator[StateStore]:
    if plan.key is None:
        yield StateStore("how often each row is there", "row", "grows with the rows of the view")


def _of(relation: Relation) -> Iterator[StateStore]:
    match relation:
        case Scan():
            name = quote(relation.source)
            if relation.watermark is not None:
                yield StateStore(f"the watermark of {name}", "partition", "one for each partition")
            if relation.growth is Growth.REPLACED:
                yield StateStore(f"the rows of {name}", "key", f"grows with the keys of {name}")
        case ClosedRows():
            names = ", ".join(map(quote, relation.sources))
            yield StateStore(
                "rows that may still change",
                "time",
                f"a row goes when the watermark of {names} passes",
            )
        case TemporalFilter():
            growth = (
                "a row goes when its time has passed"
                if relation.until
                else ("a row goes when its time has come")
            )
            yield StateStore("rows that time lets in or out", "time", growth)
        case Join():
            growth = "grows with the rows of both sides"
            yield StateStore("the rows of both sides", _equalities(relation), growth)
        case TemporalJoin():
            growth = "grows with the rows of the right side"
            yield StateStore("the rows of the right side", _equalities(relation), growth)
            if not only_grows(relation.left):
                growth = "grows with the rows of the left side, and with what they were joined with"
                yield StateStore("the results of each left row", "left row", growth)
        case Aggregate():
            keys = _names(relation.keys)
            yield StateStore("the groups", keys, "grows with the groups, or with their rows")
        case SetOperation():
            yield StateStore("how often each side has a row", "row", "grows with distinct rows")
        case WindowFunctions() | TopRows() | AtMostOne():
            keys = _names(relation.partition)
            yield StateStore("the rows of each partition", keys, "grows with the rows")


def _equalities(join: Pairs) -> str:
    return ", ".join(f"{left.sql()} = {right.sql()}" for left, right in join.equalities)


def _names(fields: tuple[Field, ...]) -> str:
    return ", ".join(field.name for field in fields)
