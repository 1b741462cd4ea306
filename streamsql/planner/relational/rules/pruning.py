"""Column pruning: no operator has fields that nothing above it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from streamsql.planner.relational.algebra import (
    Added,
    Aggregate,
    AtMostOne,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    Pairs,
    Project,
    Recursion,
    Relation,
    Scan,
    SetOperation,
    TemporalJoin,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
)
from streamsql.planner.relational.expressions import column, ids_in
from streamsql.planner.relational.joins import on
from streamsql.planner.relational.keys import determined

Needed = frozenset[str]


def pruned(relation: Relation, needed: Iterable[str]) -> Relation:
    """The relation with at least the needed fields. A table keeps its key."""
    method: Callable[[Relation, Needed], Relation] = _PRUNE[type(relation)]
    return method(relation, frozenset(needed))


def exactly(relation: Relation, fields: Sequence[Field]) -> Relation:
    """The relation with these fields only, in their order."""
    if relation.fields == tuple(fields):
        return relation
    return Project(relation, tuple((field, column(field)) for field in fields))


def _ids(fields: Iterable[Field]) -> set[str]:
    return {field.id for field in fields}


def _some(fields: Sequence[Field], needed: Needed) -> list[int]:
    """The places of needed fields; one where there is none."""
    return [n for n, f in enumerate(fields) if f.id in needed] or [0]


def _scan(node: Scan, needed: Needed) -> Relation:
    kept = needed | _ids(node.key)
    columns = tuple(pair for pair in node.columns if pair[1].id in kept)
    return replace(node, columns=columns or node.columns[:1])


def _values(node: Values, needed: Needed) -> Relation:
    if not node.columns:
        return node
    places = _some(node.columns, needed)
    rows = tuple(tuple(row[n] for n in places) for row in node.rows)
    return Values(rows, tuple(node.columns[n] for n in places))


def _filter(node: Filter, needed: Needed) -> Relation:
    return replace(node, input=pruned(node.input, needed | ids_in(node.condition)))


def _project(node: Project, needed: Needed) -> Relation:
    if not node.items:
        return node
    items = tuple(node.items[n] for n in _some(node.fields, needed))
    input = pruned(node.input, ids_in(*(value for _, value in items)))
    return Project(input, items)


def _join(node: Pairs, needed: Needed) -> Relation:
    every = needed | ids_in(*on(node))
    return replace(node, left=pruned(node.left, every), right=pruned(node.right, every))


def _aggregate(node: Aggregate, needed: Needed) -> Relation:
    keys = list(node.keys)
    for key in node.keys:
        others = [k for k in keys if k is not key]
        if key.id not in needed and others and key in determined(node.input, others):
            keys = others
    aggregates = tuple(item for item in node.aggregates if item[0].id in needed)
    if not keys and not aggregates:
        aggregates = node.aggregates[:1]
    below = _ids(keys) | ids_in(*(call for _, call in aggregates))
    return Aggregate(pruned(node.input, below), tuple(keys), aggregates)


def _windows(node: WindowFunctions, needed: Needed) -> Relation:
    functions = tuple(item for item in node.functions if item[0].id in needed)
    if not functions:
        return pruned(node.input, needed)
    below = needed | _ids(node.partition) | ids_in(*(call for _, call in functions))
    return replace(node, input=pruned(node.input, below), functions=functions)


def _top(node: TopRows, needed: Needed) -> Relation:
    below = needed | _ids(node.partition) | ids_in(*node.order)
    return replace(node, input=pruned(node.input, below))


def _single(node: AtMostOne, needed: Needed) -> Relation:
    return replace(node, input=pruned(node.input, needed | _ids(node.partition)))


def _union(node: UnionAll, needed: Needed) -> Relation:
    places = _some(node.columns, needed)
    branches = []
    for branch in node.relations:
        fields = [branch.fields[n] for n in places]
        branches.append(exactly(pruned(branch, _ids(fields)), fields))
    return UnionAll(tuple(branches), tuple(node.columns[n] for n in places))


def _set(node: SetOperation, needed: Needed) -> Relation:
    left, right = (exactly(pruned(s, _ids(s.fields)), s.fields) for s in (node.left, node.right))
    return replace(node, left=left, right=right)


def _generate(node: Generate, needed: Needed) -> Relation:
    ordinality = node.ordinality if node.ordinality and node.ordinality.id in needed else None
    below = needed | ids_in(node.call)
    return replace(node, input=pruned(node.input, below), ordinality=ordinality)


def _expand(node: Expand, needed: Needed) -> Relation:
    places = _some(node.columns, needed)
    rows = tuple(tuple(row[n] for n in places) for row in node.projections)
    below = ids_in(*(value for row in rows for value in row))
    return Expand(pruned(node.input, below), rows, tuple(node.columns[n] for n in places))


def _added(node: Added, needed: Needed) -> Relation:
    return node


def _recursion(node: Recursion, needed: Needed) -> Relation:
    """All columns stay, since each step reads those of the one before."""
    base, step = (
        exactly(pruned(part, _ids(part.fields)), part.fields) for part in (node.base, node.step)
    )
    return replace(node, base=base, step=step)


_PRUNE: dict[type[Relation], Callable[..., Relation]] = {
    Scan: _scan,
    Values: _values,
    Filter: _filter,
    Project: _project,
    Join: _join,
    TemporalJoin: _join,
    Aggregate: _aggregate,
    WindowFunctions: _windows,
    TopRows: _top,
    AtMostOne: _single,
    UnionAll: _union,
    SetOperation: _set,
    Generate: _generate,
    Expand: _expand,
    Added: _added,
    Recursion: _recursion,
}
