"""Joins from conditions: the equalities between the sides, and the rest."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Join, JoinKind, Pairs, Relation
from streamsql.planner.relational.expressions import compare, conjunction, conjuncts, ids_in

P = TypeVar("P", bound=Pairs)


def joined(left: Relation, right: Relation, kind: JoinKind, condition: Expression | None) -> Join:
    """A join with the condition's equalities between the sides as such."""
    return paired(Join, left, right, kind, condition)


def paired(
    made: type[P], left: Relation, right: Relation, kind: JoinKind, condition: Expression | None
) -> P:
    """The same for a kind of pairs."""
    ours = {field.id for field in left.fields}
    theirs = {field.id for field in right.fields}
    pairs: list[tuple[Expression, Expression]] = []
    safe: list[bool] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _pair(part, ours, theirs)
        if pair is None:
            if not (isinstance(part, exp.Boolean) and part.this):
                rest.append(part)
        elif pair not in pairs:
            pairs.append(pair)
            safe.append(isinstance(part, exp.NullSafeEQ))
    return made(
        left,
        right,
        kind,
        tuple(pairs),
        conjunction(rest),
        tuple(safe) if any(safe) else (),
    )


def _pair(
    part: Expression, ours: set[str], theirs: set[str]
) -> tuple[Expression, Expression] | None:
    """Both sides of an equality, the left one's first."""
    sides = ids_of_sides(part)
    if sides is None or not is_between(sides, ours, theirs):
        return None
    left, right = part.this, part.expression
    return (left, right) if sides[0] <= ours else (right, left)


Sides = tuple[set[str], set[str]]
"""The ids of the fields on both sides of an equality."""


def ids_of_sides(part: Expression) -> Sides | None:
    """None where it is not an equality of two expressions over fields."""
    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return None
    left, right = ids_in(part.this), ids_in(part.expression)
    return (left, right) if left and right else None


def is_between(sides: Sides, ours: set[str], theirs: set[str]) -> bool:
    """Whether an equality compares an expression of ours with one of theirs."""
    left, right = sides
    return (left <= ours and right <= theirs) or (right <= ours and left <= theirs)


def on(node: Pairs) -> list[Expression]:
    """All conditions of a join."""
    safe = node.nulls_equal
    equal = [
        compare(exp.NullSafeEQ if null else exp.EQ, a, b)
        for (a, b), null in zip(node.equalities, safe, strict=True)
    ]
    return [*equal, *conjuncts(node.condition)]
