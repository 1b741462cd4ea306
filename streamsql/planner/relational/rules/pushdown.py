"""Conditions move down to where their fields are, and joins get their equalities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    SetOperation,
    TemporalJoin,
    TopRows,
    UnionAll,
    WindowFunctions,
)
from streamsql.planner.relational.dependent import with_inputs
from streamsql.planner.relational.expressions import (
    column,
    conjunction,
    conjuncts,
    disjunction,
    has_clock,
    ids_in,
    operand,
    substituted,
)
from streamsql.planner.relational.joins import (
    Sides,
    ids_of_sides,
    is_between,
    joined,
    on,
    paired,
)
from streamsql.planner.relational.rules.limits import limited
from streamsql.planner.relational.rules.strictness import has_exactly_one_row, rejects_nulls

Conditions = list[Expression]


def pushed(relation: Relation, conditions: Conditions | None = None) -> Relation:
    """The relation's rows for which the conditions are true."""
    method = _PUSH.get(type(relation))
    given = conditions or []
    if method is None:
        return _filtered(with_inputs(relation, pushed), given)
    result: Relation = method(relation, given)
    return result


def _filtered(relation: Relation, conditions: Iterable[Expression]) -> Relation:
    whole = conjunction(_distinct(conditions))
    return relation if whole is None else Filter(relation, whole)


def _distinct(conditions: Iterable[Expression]) -> Conditions:
    result: Conditions = []
    for condition in conditions:
        for part in conjuncts(condition):
            true = isinstance(part, exp.Boolean) and part.this
            if not true and part not in result:
                result.append(part)
    return result


def _split(conditions: Conditions, fields: Iterable[Field]) -> tuple[Conditions, Conditions]:
    """The conditions over these fields only, and the others."""
    have = {field.id for field in fields}
    inside: Conditions = []
    others: Conditions = []
    for condition in conditions:
        needed = ids_in(condition)
        (inside if needed and needed <= have else others).append(condition)
    return inside, others


def _filter(node: Filter, conditions: Conditions) -> Relation:
    own: Conditions = []
    for part in conjuncts(node.condition):
        own += factored(part)
    return pushed(node.input, [*own, *conditions])


def factored(condition: Expression) -> Conditions:
    """`(a AND b) OR (a AND c)` is `a AND (b OR c)`."""
    if not isinstance(condition, exp.Or):
        return [condition]
    branches = [conjuncts(branch) for branch in _disjuncts(condition)]
    shared = [part for part in branches[0] if all(part in branch for branch in branches[1:])]
    if not shared:
        return [condition]
    rest = [[part for part in branch if part not in shared] for branch in branches]
    if any(not branch for branch in rest):
        return shared
    parts = [conjunction(branch) for branch in rest]
    whole = disjunction([operand(part) for part in parts if part is not None])
    assert whole is not None
    return [*shared, whole]


def _disjuncts(condition: Expression) -> Conditions:
    if isinstance(condition, exp.Paren):
        return _disjuncts(condition.this)
    if isinstance(condition, exp.Or):
        return [*_disjuncts(condition.this), *_disjuncts(condition.expression)]
    return [condition]


def _project(node: Project, conditions: Conditions) -> Relation:
    values = {field.id: value for field, value in node.items}
    below = [substituted(condition, values) for condition in conditions]
    return replace(node, input=pushed(node.input, below))


def _join(node: Join, conditions: Conditions) -> Relation:
    node = _stronger(node, conditions)
    method = _JOINS[node.kind]
    return method(node, conditions)


def _stronger(node: Join, conditions: Conditions) -> Join:
    """An outer join whose added rows no condition lets through is an inner one."""
    kind = node.kind
    rejected = rejects_nulls(conditions)
    left = any(field.id in rejected for field in node.left.fields)
    right = any(field.id in rejected for field in node.right.fields)
    if kind is JoinKind.FULL and left and right:
        return replace(node, kind=JoinKind.INNER)
    if kind is JoinKind.FULL and left:
        return replace(node, kind=JoinKind.LEFT)
    if kind is JoinKind.FULL and right:
        turned = tuple((b, a) for a, b in node.equalities)
        return Join(node.right, node.left, JoinKind.LEFT, turned, node.condition, node.null_safe)
    if kind is JoinKind.LEFT and (right or (not on(node) and has_exactly_one_row(node.right))):
        return replace(node, kind=JoinKind.INNER)
    return node


def _inner(node: Join, conditions: Conditions) -> Relation:
    leaves: list[Relation] = []
    every: Conditions = list(conditions)
    _gather(node, leaves, every)
    every = _distinct(part for c in every for part in factored(c))
    placed: list[Relation] = []
    for leaf in leaves:
        inside, every = _split(every, leaf.fields)
        placed.append(pushed(leaf, inside))
    return _ordered(placed, every)


def _gather(node: Relation, leaves: list[Relation], conditions: Conditions) -> None:
    """The relations that inner joins and filters combine, and their conditions."""
    if isinstance(node, Filter):
        found = len(leaves)
        conditions += conjuncts(node.condition)
        _gather(node.input, leaves, conditions)
        assert len(leaves) > found
        return
    if isinstance(node, Join):
        node = _stronger(node, conditions)
        if node.kind is JoinKind.INNER:
            conditions += on(node)
            _gather(node.left, leaves, conditions)
            _gather(node.right, leaves, conditions)
            return
    leaves.append(node)


def _ordered(leaves: Sequence[Relation], conditions: Conditions) -> Relation:
    """Joins in the written order, but one that has an equality comes before those without."""
    equalities = [sides for condition in conditions if (sides := ids_of_sides(condition))]
    result, *waiting = leaves
    rest = list(conditions)
    while waiting:
        ours = {field.id for field in result.fields}
        linked = (leaf for leaf in waiting if _are_linked(ours, leaf, equalities))
        following = next(linked, waiting[0])
        waiting = [leaf for leaf in waiting if leaf is not following]
        here, rest = _split(rest, (*result.fields, *following.fields))
        result = joined(result, following, JoinKind.INNER, conjunction(here))
    return _filtered(result, rest)


def _are_linked(ours: set[str], leaf: Relation, equalities: Iterable[Sides]) -> bool:
    theirs = {field.id for field in leaf.fields}
    return any(is_between(sides, ours, theirs) for sides in equalities)


def _left(node: Join, conditions: Conditions) -> Relation:
    ours, above = _split(conditions, node.left.fields)
    theirs, own = _split(_distinct(on(node)), node.right.fields)
    left, right = pushed(node.left, ours), pushed(node.right, theirs)
    return _filtered(joined(left, right, JoinKind.LEFT, conjunction(own)), above)


def _full(node: Join, conditions: Conditions) -> Relation:
    own = conjunction(_distinct(on(node)))
    both = joined(pushed(node.left), pushed(node.right), JoinKind.FULL, own)
    return _filtered(both, conditions)


def _semi(node: Join, conditions: Conditions) -> Relation:
    theirs, own = _split(_distinct(on(node)), node.right.fields)
    ours, own = _split(own, node.left.fields) if node.kind is JoinKind.SEMI else ([], own)
    left, right = pushed(node.left, [*conditions, *ours]), pushed(node.right, theirs)
    return joined(left, right, node.kind, conjunction(own))


def _temporal(node: TemporalJoin, conditions: Conditions) -> Relation:
    """A left row may be left out before it is joined, unless time lets it in: it would be joined
    at that moment."""
    ours, above = _split([c for c in conditions if not has_clock(c)], node.left.fields)
    above += [c for c in conditions if has_clock(c)]
    theirs, own = _split(_distinct(on(node)), node.right.fields)
    left, right = pushed(node.left, ours), pushed(node.right, theirs)
    return _filtered(paired(TemporalJoin, left, right, node.kind, conjunction(own)), above)


_JOINS: dict[JoinKind, Callable[[Join, Conditions], Relation]] = {
    JoinKind.INNER: _inner,
    JoinKind.LEFT: _left,
    JoinKind.FULL: _full,
    JoinKind.SEMI: _semi,
    JoinKind.ANTI: _semi,
}


def _aggregate(node: Aggregate, conditions: Conditions) -> Relation:
    below, above = _split(conditions, node.keys)
    return _filtered(replace(node, input=pushed(node.input, below)), above)


def _windows(node: WindowFunctions, conditions: Conditions) -> Relation:
    below, above = _split(conditions, node.partition)
    input, above = limited(node, above)
    return _filtered(replace(node, input=pushed(input, below)), above)


def _partitioned(node: TopRows | AtMostOne, conditions: Conditions) -> Relation:
    below, above = _split(conditions, node.partition)
    return _filtered(replace(node, input=pushed(node.input, below)), above)


def _positions(conditions: Conditions, columns: Sequence[Field], branch: Relation) -> Conditions:
    mapping = {c.id: column(f) for c, f in zip(columns, branch.fields, strict=True)}
    return [substituted(condition, mapping) for condition in conditions]


def _branch(branch: Relation, conditions: Conditions) -> Relation:
    """A branch keeps its columns at their places."""
    result = pushed(branch, conditions)
    if result.fields == branch.fields:
        return result
    return Project(result, tuple((field, column(field)) for field in branch.fields))


def _union(node: UnionAll, conditions: Conditions) -> Relation:
    branches = tuple(
        _branch(branch, _positions(conditions, node.columns, branch)) for branch in node.relations
    )
    return replace(node, relations=branches)


def _set(node: SetOperation, conditions: Conditions) -> Relation:
    left, right = (
        _branch(side, _positions(conditions, node.columns, side))
        for side in (node.left, node.right)
    )
    return replace(node, left=left, right=right)


def _generate(node: Generate, conditions: Conditions) -> Relation:
    below, above = _split(conditions, node.input.fields)
    return _filtered(replace(node, input=pushed(node.input, below)), above)


_PUSH: dict[type[Relation], Callable[..., Relation]] = {
    Filter: _filter,
    Project: _project,
    Join: _join,
    TemporalJoin: _temporal,
    Aggregate: _aggregate,
    WindowFunctions: _windows,
    TopRows: _partitioned,
    AtMostOne: _partitioned,
    UnionAll: _union,
    SetOperation: _set,
    Generate: _generate,
}
