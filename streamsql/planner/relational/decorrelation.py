"""Decorrelation: dependent joins become joins.

The method is that of Neumann and Kemper, "Unnesting Arbitrary Queries" (2015). A query that refers
to an outer row is evaluated once for each distinct combination of the values that it refers to, its
domain. The domain moves down the query until nothing refers to the outer row any more; there it is
joined, or, where a condition makes an outer value equal to an inner one, the inner one takes its
place. Each operator on the way keeps the rows of different combinations apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from streamsql.errors import InternalError, UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Expand,
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
    Values,
    WindowFunctions,
)
from streamsql.planner.relational.dependent import DependentJoin, anywhere, free
from streamsql.planner.relational.expressions import (
    Ids,
    column,
    compare,
    conjunction,
    conjuncts,
    ids_in,
    is_not_null,
    number,
    substituted,
    typed,
)
from streamsql.planner.relational.joins import joined, on

_ONE_ROW = Values(((),))


def decorrelated(relation: Relation, ids: Ids) -> Relation:
    """The relation without dependent joins."""

    def change(node: Relation) -> Relation:
        return _Decorrelation(ids, node).result() if isinstance(node, DependentJoin) else node

    return anywhere(relation, change)


@dataclass(frozen=True)
class Outer:
    """Where a relation has the value of an outer field; `equal` says that a condition has made both
    equal, so that neither is null."""

    field: Field
    equal: bool = False


Places = dict[str, Outer]
"""By the id of the outer field."""
Pushed = tuple[Relation, Places]


class _Decorrelation:
    """Of one dependent join, in whose sides there are no others."""

    def __init__(self, ids: Ids, node: DependentJoin) -> None:
        self._ids = ids
        self._node = node
        self._left = node.left
        self._fields = {field.id: field for field in node.left.fields}
        self._outer = free(node.right) & self._fields.keys()

    def result(self) -> Relation:
        node = self._node
        if not self._outer:
            return joined(node.left, node.right, node.kind, node.condition)
        for attempt in (self._as_rows, self._as_condition, self._as_groups):
            found = attempt()
            if found is not None:
                return found
        right, places = self._push(node.right)
        equal = self._equal(places, self._fields)
        return joined(
            node.left, right, node.kind, conjunction([*conjuncts(node.condition), *equal])
        )

    # -- the frequent cases ----------------------------------------------------------------------

    def _as_rows(self) -> Relation | None:
        """A table function of each row."""
        node = self._node
        steps, below = _chain(node.right)
        if not isinstance(below, Generate) or below.input != _ONE_ROW:
            return None
        if node.kind is JoinKind.INNER:
            result: Relation = replace(below, input=node.left)
            result = _again(steps, result, node.left.fields)
            return _filtered(result, conjuncts(node.condition))
        if node.kind is JoinKind.LEFT and not steps and not _needed(node.condition):
            return replace(below, input=node.left, outer=True)
        return None

    def _as_condition(self) -> Relation | None:
        """Only conditions refer to the outer row: they are the join's."""
        node = self._node
        exists = node.kind in (JoinKind.SEMI, JoinKind.ANTI)
        lifted = self._lifted(node.right, exists, exists and node.condition is None)
        if lifted is None:
            return None
        right, conditions, replaced = lifted
        own = [substituted(part, replaced) for part in conjuncts(node.condition)]
        return joined(node.left, right, node.kind, conjunction([*own, *conditions]))

    def _lifted(
        self, node: Relation, exists: bool, only_exists: bool
    ) -> tuple[Relation, list[Expression], dict[str, Expression]] | None:
        """The relation without its conditions on the outer row, these, and what became of its
        fields. For `exists` its columns do not matter, for `only_exists` nor how many rows."""
        match node:
            case _ if not free(node) & self._outer:
                return node, [], {}
            case Filter(input, condition):
                below = self._lifted(input, exists, only_exists)
                if below is None:
                    return None
                relation, lifted, replaced = below
                own = [substituted(part, replaced) for part in conjuncts(condition)]
                here = [part for part in own if not ids_in(part) & self._outer]
                return (
                    _filtered(relation, here),
                    [*lifted, *(part for part in own if ids_in(part) & self._outer)],
                    replaced,
                )
            case Project(input, items):
                below = self._lifted(input, exists, only_exists)
                if below is None:
                    return None
                relation, lifted, replaced = below
                values = {f.id: substituted(value, replaced) for f, value in items}
                if exists:
                    return relation, lifted, values
                if any(ids_in(value) & self._outer for value in values.values()):
                    return None
                shown = {field.id for field, _ in items}
                kept = tuple(
                    (f, column(f))
                    for f in relation.fields
                    if f.id not in shown and f.id in ids_in(*lifted)
                )
                own_items = tuple((f, values[f.id]) for f, _ in items)
                return Project(relation, (*own_items, *kept)), lifted, {}
            case Join(left, right, JoinKind.INNER):
                one = self._lifted(left, exists, only_exists)
                other = self._lifted(right, exists, only_exists)
                if one is None or other is None:
                    return None
                replaced = {**one[2], **other[2]}
                own = [substituted(part, replaced) for part in on(node)]
                here = [part for part in own if not ids_in(part) & self._outer]
                outside = [part for part in own if ids_in(part) & self._outer]
                relation = joined(one[0], other[0], JoinKind.INNER, conjunction(here))
                return relation, [*one[1], *other[1], *outside], replaced
            case Join(left, right):
                if node.kind is JoinKind.FULL or free(right) & self._outer:
                    return None
                if any(ids_in(part) & self._outer for part in on(node)):
                    return None
                below = self._lifted(left, False, False)
                return None if below is None else (replace(node, left=below[0]), below[1], {})
            case Aggregate(input, aggregates=()) if only_exists:
                return self._lifted(input, exists, only_exists)
            case TopRows(input, (), offset=0) if only_exists and (node.limit is None or node.limit):
                return self._lifted(input, exists, only_exists)
        return None

    def _as_groups(self) -> Relation | None:
        """An aggregate without keys has a row for each outer one: groups by the outer values, and
        where there is no group, the aggregate of nothing."""
        node = self._node
        if node.kind not in (JoinKind.LEFT, JoinKind.INNER):
            return None
        steps, below = _chain(node.right)
        if not isinstance(below, Aggregate) or below.keys or not below.aggregates:
            return None
        certain = node.kind is JoinKind.INNER
        if not certain and (
            _needed(node.condition) or any(isinstance(step, Filter) for step in steps)
        ):
            return None
        groups, places, empty = self._groups(below)
        equal = self._equal(places, self._fields)
        result: Relation = joined(node.left, groups, JoinKind.LEFT, conjunction(equal))
        kept = tuple((field, column(field)) for field in node.left.fields)
        result = Project(result, (*kept, *empty))
        result = _again(steps, result, node.left.fields)
        return _filtered(result, conjuncts(node.condition) if certain else [])

    def _groups(self, node: Aggregate) -> tuple[Relation, Places, list[tuple[Field, Expression]]]:
        """The aggregate by the outer values, and its results where a group may be missing."""
        input, places = self._push(node.input)
        calls = [call for _, call in node.aggregates]
        input, places = self._with(input, places, ids_in(*calls))
        aggregates, results = [], []
        for field, call in node.aggregates:
            call = self._inner(call, places)
            if _counts(call):
                counted = self._ids.like(field)
                aggregates.append((counted, call))
                whole = exp.Coalesce(this=column(counted), expressions=[number(0)])
                results.append((field, typed(whole, field.type)))
            else:
                aggregates.append((field, call))
                results.append((field, column(field)))
        keys = tuple(dict.fromkeys(place.field for place in places.values()))
        return Aggregate(input, keys, tuple(aggregates)), places, results

    # -- the general case ------------------------------------------------------------------------

    def _domain(self, ids: Iterable[str]) -> Pushed:
        """The distinct values of outer fields."""
        names = sorted(ids)
        fields = {name: self._ids.like(self._fields[name]) for name in names}
        values = tuple((fields[name], column(self._fields[name])) for name in names)
        distinct = Aggregate(Project(self._left, values), tuple(fields.values()))
        return distinct, {name: Outer(field) for name, field in fields.items()}

    def _with(self, relation: Relation, places: Places, ids: Iterable[str]) -> Pushed:
        """The relation with the values of these outer fields, too."""
        missing = (set(ids) & self._outer) - places.keys()
        if not missing:
            return relation, places
        domain, more = self._domain(missing)
        return joined(domain, relation, JoinKind.INNER, None), {**places, **more}

    def _inner(self, expression: Expression, places: Places) -> Expression:
        return substituted(expression, {id: column(place.field) for id, place in places.items()})

    def _equal(self, places: Places, fields: dict[str, Field]) -> list[Expression]:
        return [
            compare(
                exp.EQ if place.equal else exp.NullSafeEQ, column(fields[id]), column(place.field)
            )
            for id, place in places.items()
        ]

    def _push(self, node: Relation) -> Pushed:
        """The relation for all outer rows at once, with the outer values that it refers to."""
        if not free(node) & self._outer:
            return node, {}
        method = _PUSH.get(type(node))
        if isinstance(node, TemporalJoin):
            raise UnsupportedError(
                "A temporal join in a subquery that refers to the outer query is not supported.",
                hint="Make a materialized view of the join, and read it in the subquery.",
            )
        if method is None:
            raise InternalError(f"decorrelation does not know {type(node).__name__}")
        return method(self, node)

    def _filter(self, node: Filter) -> Pushed:
        relation, places = self._push(node.input)
        own = {field.id for field in relation.fields}
        equal: dict[str, Expression] = {}
        rest = []
        for part in conjuncts(node.condition):
            id, value = self._equated(part, own) or ("", part)
            if id and id not in places | equal and value.type == self._fields[id].type:
                equal[id] = value
            else:
                rest.append(part)
        missing = (ids_in(*rest) & self._outer) - places.keys() - equal.keys()
        if missing and equal:
            # The domain is joined in any case: the equalities are that join's index.
            domain, more = self._domain(missing | equal.keys())
            parts = [compare(exp.EQ, column(more[id].field), v) for id, v in equal.items()]
            relation = joined(domain, relation, JoinKind.INNER, conjunction(parts))
            places |= {id: replace(place, equal=id in equal) for id, place in more.items()}
        else:
            fields = {id: self._ids.like(self._fields[id]) for id in equal}
            places |= {id: Outer(field, equal=True) for id, field in fields.items()}
            if equal:
                kept = tuple((field, column(field)) for field in relation.fields)
                added = tuple((fields[id], value) for id, value in equal.items())
                relation = Project(relation, (*kept, *added))
            relation, places = self._with(relation, places, missing)
        return _filtered(relation, [self._inner(part, places) for part in rest]), places

    def _equated(self, part: Expression, own: set[str]) -> tuple[str, Expression] | None:
        """The outer field that the condition makes equal to a value of the relation's."""
        if not isinstance(part, exp.EQ):
            return None
        for a, b in ((part.this, part.expression), (part.expression, part.this)):
            if isinstance(a, exp.Column) and a.name in self._outer and ids_in(b):
                if ids_in(b) <= own:
                    return a.name, b
        return None

    def _project(self, node: Project) -> Pushed:
        relation, places = self._push(node.input)
        relation, places = self._with(relation, places, ids_in(*(value for _, value in node.items)))
        items = tuple((field, self._inner(value, places)) for field, value in node.items)
        shown = {field.id for field, _ in items}
        kept = [place.field for place in places.values() if place.field.id not in shown]
        more = tuple((field, column(field)) for field in dict.fromkeys(kept))
        return Project(relation, (*items, *more)), places

    def _aggregate(self, node: Aggregate) -> Pushed:
        if node.keys or not node.aggregates:
            relation, places = self._push(node.input)
            calls = [call for _, call in node.aggregates]
            relation, places = self._with(relation, places, ids_in(*calls))
            aggregates = tuple((f, self._inner(call, places)) for f, call in node.aggregates)
            keys = dict.fromkeys((*node.keys, *(place.field for place in places.values())))
            return Aggregate(relation, tuple(keys), aggregates), places
        groups, inner, results = self._groups(node)
        domain, places = self._domain(inner)
        fields = {id: place.field for id, place in places.items()}
        result = joined(domain, groups, JoinKind.LEFT, conjunction(self._equal(inner, fields)))
        kept = tuple((place.field, column(place.field)) for place in places.values())
        return Project(result, (*results, *kept)), places

    def _join(self, node: Join) -> Pushed:
        left, places = self._push(node.left)
        right, others = self._push(node.right)
        needed = ids_in(*on(node))
        if node.kind is JoinKind.INNER:
            known = {**others, **places}
            equal = self._same(places, others)
            missing = (needed & self._outer) - known.keys()
            left, more = self._with(left, {}, missing)
            places = {**known, **more}
        elif node.kind is JoinKind.FULL:
            return self._full(node, (left, places), (right, others))
        else:
            left, places = self._with(left, places, needed | others.keys())
            equal = self._same(places, others)
        own = [self._inner(part, places) for part in on(node)]
        return joined(left, right, node.kind, conjunction([*own, *equal])), places

    def _same(self, places: Places, others: Places) -> list[Expression]:
        """That both sides belong to the same outer row."""
        fields = {id: place.field for id, place in places.items()}
        return self._equal({id: p for id, p in others.items() if id in fields}, fields)

    def _full(self, node: Join, left: Pushed, right: Pushed) -> Pushed:
        every = (ids_in(*on(node)) & self._outer) | left[1].keys() | right[1].keys()
        one, places = self._with(*self._certain(*left), every)
        other, others = self._with(*self._certain(*right), every)
        own = [self._inner(part, places) for part in on(node)]
        equal = self._same(places, others)
        both = joined(one, other, JoinKind.FULL, conjunction([*own, *equal]))
        merged: list[tuple[Field, Expression]] = []
        result: Places = {}
        for id in sorted(every):
            field = self._ids.like(self._fields[id])
            a, b = column(places[id].field), column(others[id].field)
            merged.append((field, typed(exp.Coalesce(this=a, expressions=[b]), field.type)))
            result[id] = Outer(field)
        kept = tuple((field, column(field)) for field in both.fields)
        return Project(both, (*kept, *merged)), result

    def _windows(self, node: WindowFunctions) -> Pushed:
        relation, places = self._push(node.input)
        calls = [call for _, call in node.functions]
        relation, places = self._with(relation, places, ids_in(*calls))
        outer = list(dict.fromkeys(place.field for place in places.values()))
        functions = []
        for field, call in node.functions:
            window = self._inner(call, places)
            partition = list(window.args.get("partition_by") or [])
            window.set("partition_by", [*partition, *(column(key) for key in outer)])
            functions.append((field, window))
        partition_ = tuple(dict.fromkeys((*node.partition, *outer)))
        return WindowFunctions(relation, partition_, tuple(functions)), places

    def _top(self, node: TopRows) -> Pushed:
        relation, places = self._push(node.input)
        relation, places = self._with(relation, places, ids_in(*node.order))
        order = tuple(self._inner(part, places) for part in node.order)
        partition = self._partition(node.partition, places)
        return replace(node, input=relation, partition=partition, order=order), places

    def _single(self, node: AtMostOne) -> Pushed:
        relation, places = self._push(node.input)
        return AtMostOne(relation, self._partition(node.partition, places)), places

    def _partition(self, partition: tuple[Field, ...], places: Places) -> tuple[Field, ...]:
        return tuple(dict.fromkeys((*partition, *(place.field for place in places.values()))))

    def _union(self, node: UnionAll) -> Pushed:
        inputs, columns, places = self._branches(node.relations, node.columns)
        return UnionAll(inputs, columns), places

    def _set(self, node: SetOperation) -> Pushed:
        (left, right), columns, places = self._branches((node.left, node.right), node.columns)
        return replace(node, left=left, right=right, columns=columns), places

    def _branches(
        self, inputs: tuple[Relation, ...], columns: tuple[Field, ...]
    ) -> tuple[tuple[Relation, ...], tuple[Field, ...], Places]:
        """Each branch with all outer values behind its own columns."""
        pushed = [self._push(branch) for branch in inputs]
        every = sorted(set().union(*(places.keys() for _, places in pushed)))
        results = []
        for branch, (relation, places) in zip(inputs, pushed, strict=True):
            relation, places = self._with(*self._certain(relation, places), every)
            taken: set[str] = set()
            items: list[tuple[Field, Expression]] = []
            for field in (*branch.fields, *(places[id].field for id in every)):
                target = self._ids.like(field) if field.id in taken else field
                taken.add(target.id)
                items.append((target, column(field)))
            results.append(Project(relation, tuple(items)))
        outer = {id: Outer(self._ids.like(self._fields[id])) for id in every}
        return tuple(results), (*columns, *(p.field for p in outer.values())), outer

    def _certain(self, relation: Relation, places: Places) -> Pushed:
        """The relation without rows whose equal outer value is null, which belong to no outer
        row."""
        known = [is_not_null(column(p.field)) for p in places.values() if p.equal]
        return _filtered(relation, known), {id: Outer(p.field) for id, p in places.items()}

    def _generate(self, node: Generate) -> Pushed:
        relation, places = self._push(node.input)
        relation, places = self._with(relation, places, ids_in(node.call))
        return replace(node, input=relation, call=self._inner(node.call, places)), places

    def _expand(self, node: Expand) -> Pushed:
        relation, places = self._push(node.input)
        needed = ids_in(*(value for row in node.projections for value in row))
        relation, places = self._with(relation, places, needed)
        outer = {id: Outer(self._ids.like(p.field), p.equal) for id, p in places.items()}
        more = tuple(column(places[id].field) for id in outer)
        rows = tuple(
            (*(self._inner(value, places) for value in row), *(part.copy() for part in more))
            for row in node.projections
        )
        columns = (*node.columns, *(place.field for place in outer.values()))
        return Expand(relation, rows, columns), outer

    def _values(self, node: Values) -> Pushed:
        every = ids_in(*(value for row in node.rows for value in row)) & self._outer
        branches: list[Relation] = []
        for row in node.rows:
            domain, places = self._domain(every)
            fields = [self._ids.like(field) for field in node.columns]
            items = [(f, self._inner(v, places)) for f, v in zip(fields, row, strict=True)]
            kept = [(places[id].field, column(places[id].field)) for id in sorted(every)]
            branches.append(Project(domain, (*items, *kept)))
        outer = {id: Outer(self._ids.like(self._fields[id])) for id in sorted(every)}
        columns = (*node.columns, *(place.field for place in outer.values()))
        return UnionAll(tuple(branches), columns), outer


_D = _Decorrelation
_PUSH: dict[type[Relation], Callable[[_Decorrelation, Any], Pushed]] = {
    Filter: _D._filter,
    Project: _D._project,
    Aggregate: _D._aggregate,
    Join: _D._join,
    WindowFunctions: _D._windows,
    TopRows: _D._top,
    AtMostOne: _D._single,
    UnionAll: _D._union,
    SetOperation: _D._set,
    Generate: _D._generate,
    Expand: _D._expand,
    Values: _D._values,
}


def _needed(condition: Expression | None) -> bool:
    """Whether a condition can be anything but true."""
    return any(not (isinstance(part, exp.Boolean) and part.this) for part in conjuncts(condition))


def _filtered(relation: Relation, conditions: list[Expression]) -> Relation:
    whole = conjunction(conditions)
    return relation if whole is None else Filter(relation, whole)


def _counts(call: Expression) -> bool:
    inner = call.this if isinstance(call, exp.Filter) else call
    return isinstance(inner, exp.Count | exp.ApproxDistinct)


def _chain(relation: Relation) -> tuple[list[Project | Filter], Relation]:
    """The projections and filters on top of a relation, the outermost last, and the relation."""
    steps: list[Project | Filter] = []
    while isinstance(relation, Project | Filter):
        steps.append(relation)
        relation = relation.input
    return steps[::-1], relation


def _again(steps: list[Project | Filter], relation: Relation, outer: tuple[Field, ...]) -> Relation:
    """The projections and filters over rows that have the outer fields, too."""
    for step in steps:
        if isinstance(step, Filter):
            relation = replace(step, input=relation)
        else:
            shown = {field.id for field, _ in step.items}
            kept = tuple((f, column(f)) for f in outer if f.id not in shown)
            relation = Project(relation, (*kept, *step.items))
    return relation
