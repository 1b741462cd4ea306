"""Where the rows of a view are placed already: then the next operator needs no exchange."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Field,
    Filter,
    Generate,
    Project,
    Relation,
    SetOperation,
    TopRows,
    WindowFunctions,
)


def placed_by(relation: Relation) -> tuple[Field, ...] | None:
    """The fields whose packed values place the changes of a relation, in this order; None: it is
    not known that any do."""
    match relation:
        case Aggregate():
            # Spark shuffles the rows of several DISTINCT aggregates by group and value.
            calls = (call for _, call in relation.aggregates)
            return None if any(call.find(exp.Distinct) for call in calls) else relation.keys
        case WindowFunctions() | TopRows() | AtMostOne():
            return relation.partition
        case SetOperation():
            return relation.columns
        case Filter() | Generate():
            return placed_by(relation.input)
        case Project():
            found = placed_by(relation.input)
            kept = {f.id for f, e in relation.items if isinstance(e, exp.Column) and e.name == f.id}
            return found if found is not None and all(f.id in kept for f in found) else None
    return None


def same_places(relation: Relation, fields: Sequence[Field]) -> bool:
    """Whether rows with equal values of the fields are in one partition, by those fields."""
    return placed_by(relation) == tuple(fields)
