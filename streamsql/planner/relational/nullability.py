"""Which fields of a relation are never null, as far as its operators say."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    ClosedRows,
    Field,
    Filter,
    Generate,
    JoinKind,
    Pairs,
    Project,
    Relation,
    Scan,
    SetOperation,
    TopRows,
    UnionAll,
    WindowFunctions,
)


def never_null(relation: Relation, field: Field) -> bool:
    """Whether it is certain that the field is not null in any row."""
    match relation:
        case Scan():
            return field in relation.key
        case Filter() | ClosedRows() | TopRows() | AtMostOne() | WindowFunctions() | Generate():
            return field in relation.input.fields and never_null(relation.input, field)
        case Project():
            return _given(relation.input, dict(relation.items)[field])
        case Pairs():
            return _joined(relation, field)
        case Aggregate():
            calls = dict(relation.aggregates)
            if field in calls:
                return isinstance(calls[field], exp.Count)
            return never_null(relation.input, field)
        case UnionAll():
            place = relation.columns.index(field)
            return all(never_null(each, each.fields[place]) for each in relation.relations)
        case SetOperation():
            place = relation.columns.index(field)
            return never_null(relation.left, relation.left.fields[place])
    return False


def _given(relation: Relation, expression: Expression) -> bool:
    if isinstance(expression, exp.Column):
        found = next((f for f in relation.fields if f.id == expression.name), None)
        return found is not None and never_null(relation, found)
    return isinstance(expression, exp.Literal | exp.Boolean)


def _joined(join: Pairs, field: Field) -> bool:
    is_left = field in join.left.fields
    if join.kind is JoinKind.FULL or (join.kind is JoinKind.LEFT and not is_left):
        return False
    if join.kind in (JoinKind.INNER, JoinKind.SEMI):
        safe = join.nulls_equal
        for equality, null_safe in zip(join.equalities, safe, strict=True):
            of = equality[0 if is_left else 1]
            if not null_safe and isinstance(of, exp.Column) and of.name == field.id:
                return True
    return never_null(join.left if is_left else join.right, field)
