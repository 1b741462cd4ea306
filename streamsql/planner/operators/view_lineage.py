"""The lineage of a relation of standard SQL: as that of the operators of streams and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators.edges import Columns, Edges, Transformation, over
from streamsql.planner.operators.lineage import NOTHING, Lineage, edges_of
from streamsql.planner.relational.algebra import (
    Added,
    Aggregate,
    AtMostOne,
    ClosedRows,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Pairs,
    Project,
    Recursion,
    Relation,
    Scan,
    SetOperation,
    TemporalFilter,
    TemporalJoin,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
)
from streamsql.planner.relational.joins import on

Sources = Mapping[str, Lineage]
"""The lineage of each source by its name."""


def lineage_of(relation: Relation, sources: Sources) -> Lineage:
    """Of the relation's rows; its columns are the ids of its fields."""
    method = _LINEAGE[type(relation)]
    return method(relation, sources)


def _scan(node: Scan, sources: Sources) -> Lineage:
    found = sources[node.source]
    columns = {field.id: found.column(name) for name, field in node.columns}
    return Lineage(columns, found.influences, found.reads)


def _values(node: Values, sources: Sources) -> Lineage:
    return Lineage({field.id: NOTHING for field in node.columns})


def _filter(node: Filter, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    return found.influenced(found.influences_of(Transformation.FILTER, [node.condition]))


def _temporal(node: TemporalFilter, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    bounds = [bound for bound in (node.since, node.until) if bound is not None]
    return found.influenced(found.influences_of(Transformation.FILTER, bounds))


def _closed(node: ClosedRows, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    return found.influenced(found.influences_of(Transformation.FILTER, [node.closes]))


def _project(node: Project, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    return replace(found, columns=_made(node.items, found.columns))


def _made(items: Iterable[tuple[Field, Expression]], columns: Columns) -> dict[str, Edges]:
    return {field.id: edges_of(expression, columns) for field, expression in items}


def _expand(node: Expand, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    columns = {
        field.id: NOTHING.union(*(edges_of(row[n], found.columns) for row in node.projections))
        for n, field in enumerate(node.columns)
    }
    return replace(found, columns=columns)


def _generate(node: Generate, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    edges = over(Transformation.TRANSFORMATION, edges_of(node.call, found.columns))
    return found.adding({field.id: edges for field in node.fields[len(node.input.fields) :]})


def _positions(inputs: Sequence[Relation], columns: Sequence[Field], sources: Sources) -> Lineage:
    result = Lineage({field.id: NOTHING for field in columns})
    for branch in inputs:
        found = lineage_of(branch, sources)
        own = {c.id: found.column(f.id) for c, f in zip(columns, branch.fields, strict=True)}
        result |= replace(found, columns=own)
    return result


def _union(node: UnionAll, sources: Sources) -> Lineage:
    return _positions(node.relations, node.columns, sources)


def _set_operation(node: SetOperation, sources: Sources) -> Lineage:
    found = _positions((node.left, node.right), node.columns, sources)
    return found.influenced(*(over(Transformation.FILTER, e) for e in found.columns.values()))


def _added(node: Added, sources: Sources) -> Lineage:
    return Lineage({field.id: NOTHING for field in node.columns})


def _recursion(node: Recursion, sources: Sources) -> Lineage:
    """What a step makes of added rows comes from the base."""
    found = _positions((node.base, node.step), node.columns, sources)
    base = NOTHING.union(*(lineage_of(node.base, sources).columns.values()))
    columns = {
        id: edges.union(over(Transformation.TRANSFORMATION, base))
        for id, edges in found.columns.items()
    }
    return replace(found, columns=columns)


def _join(node: Pairs, sources: Sources) -> Lineage:
    left, right = lineage_of(node.left, sources), lineage_of(node.right, sources)
    both = left | right
    met = both.influences_of(Transformation.JOIN, on(node))
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        both = replace(both, columns=left.columns)
    return both.influenced(met)


def _aggregate(node: Aggregate, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    columns = {key.id: found.column(key.id) for key in node.keys}
    for field, call in node.aggregates:
        columns[field.id] = over(Transformation.AGGREGATION, edges_of(call, found.columns))
    groups = (over(Transformation.GROUP_BY, found.column(key.id)) for key in node.keys)
    return replace(found, columns=columns).influenced(*groups)


def _windows(node: WindowFunctions, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    groups = [over(Transformation.GROUP_BY, found.column(key.id)) for key in node.partition]
    columns = {}
    for field, window in node.functions:
        order = window.args.get("order")
        items = order.expressions if order is not None else []
        sorted_by = found.influences_of(Transformation.SORT, items)
        value = edges_of(window.this, found.columns)
        if isinstance(window.this, exp.AggFunc):
            value = over(Transformation.AGGREGATION, value)
        columns[field.id] = value.union(sorted_by, *groups)
    return found.adding(columns)


def _top(node: TopRows, sources: Sources) -> Lineage:
    found = lineage_of(node.input, sources)
    groups = (over(Transformation.GROUP_BY, found.column(key.id)) for key in node.partition)
    return found.influenced(found.influences_of(Transformation.SORT, node.order), *groups)


def _single(node: AtMostOne, sources: Sources) -> Lineage:
    return lineage_of(node.input, sources)


_LINEAGE: dict[type[Relation], Callable[..., Lineage]] = {
    Scan: _scan,
    Values: _values,
    Filter: _filter,
    TemporalFilter: _temporal,
    ClosedRows: _closed,
    Project: _project,
    Expand: _expand,
    Generate: _generate,
    UnionAll: _union,
    SetOperation: _set_operation,
    Added: _added,
    Recursion: _recursion,
    Join: _join,
    TemporalJoin: _join,
    Aggregate: _aggregate,
    WindowFunctions: _windows,
    TopRows: _top,
    AtMostOne: _single,
}
