"""GROUP BY: groups, grouping sets and aggregates, and what a SELECT may say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    Expand,
    Field,
    Project,
    Relation,
    UnionAll,
)
from streamsql.planner.relational.binder.pending import (
    SUBQUERIES,
    AggregateCall,
    ComparedQuery,
    Grouping,
    Pending,
)
from streamsql.planner.relational.binder.subqueries import Subqueries
from streamsql.planner.relational.dependent import free
from streamsql.planner.relational.expressions import (
    Ids,
    column,
    compare,
    id_of,
    ids_in,
    null,
    number,
    transformed,
    typed,
)
from streamsql.planner.relational.keys import determined
from streamsql.planner.relational.typing import kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import BIGINT, INT

Sets = tuple[tuple[int, ...], ...]
"""GROUPING SETS, each by the numbers of its keys."""


@dataclass(frozen=True)
class Grouped:
    """Groups: their relation, and what the parts of expressions over them are."""

    relation: Relation
    keys: tuple[tuple[Expression, Field], ...]
    parts: dict[str, Expression]
    """Aggregates and GROUPING(..), by the names of their placeholders."""
    free: frozenset[str]
    """The fields that the groups determine."""
    below: frozenset[str]
    """The fields of the ungrouped rows."""
    pending: Pending

    def over(self, expression: Expression) -> Expression:
        """An expression over rows as one over groups; PlanError where the groups do not decide
        it."""
        keys = [(key, field) for key, field in self.keys]

        def of(node: Expression) -> Expression:
            if isinstance(node, exp.Placeholder) and node.name in self.parts:
                return self.parts[node.name].copy()
            return node

        result = transformed(self._with_keys(expression, keys), of)
        self._subqueries_over(result)
        for found in result.find_all(exp.Column):
            if found.name in self.below and found.name not in self.free:
                raise PlanError(
                    f"column {_shown(found.name)} must appear in the GROUP BY clause or be used in "
                    "an aggregate function",
                    span=span_of(found) or span_of(expression),
                )
        return result

    def _subqueries_over(self, expression: Expression) -> None:
        """What subqueries are compared with is over groups, too."""
        for name, part in self.pending.in_(expression, *SUBQUERIES):
            assert isinstance(part, SUBQUERIES)
            if isinstance(part, ComparedQuery):
                values = tuple(self.over(value) for value in part.values)
                self.pending.parts[name] = replace(part, values=values)
            outer = (free(part.query.relation) & self.below) - self.free
            if outer:
                raise PlanError(
                    f"subquery uses ungrouped column {_shown(min(outer))} from outer query",
                    span=span_of(expression),
                )

    def _with_keys(
        self, expression: Expression, keys: Sequence[tuple[Expression, Field]]
    ) -> Expression:
        for key, field in keys:
            if expression == key:
                return column(field)
        copy = expression.copy()
        waiting = list(copy.iter_expressions())
        while waiting:
            node = waiting.pop()
            field_ = next((field for key, field in keys if node == key), None)
            if field_ is not None:
                node.replace(column(field_))
            else:
                waiting.extend(node.iter_expressions())
        return copy


def _shown(id: str) -> str:
    return id.rsplit("_", 1)[0]


@dataclass(frozen=True)
class Groups:
    """Makes groups of rows."""

    ids: Ids
    pending: Pending
    subqueries: Subqueries

    def of(self, relation: Relation, keys: Sequence[Expression], sets: Sets | None) -> Grouped:
        """The rows in groups by the keys, with all aggregates that wait."""
        relation, placed = self.subqueries.placed(relation, keys)
        calls = {n: p for n, p in self.pending.parts.items() if isinstance(p, AggregateCall)}
        names = list(calls)
        relation, arguments = self.subqueries.placed(relation, [calls[n].call for n in names])
        relation, key_fields = projected(self.ids, relation, placed)
        below = frozenset(field.id for field in relation.fields)
        aggregates = tuple(
            (self.ids.field(_name_of(call), kind_of(call)), call) for call in arguments
        )
        parts: dict[str, Expression] = {
            name: column(field) for name, (field, _) in zip(names, aggregates, strict=True)
        }
        if sets is not None:
            return self._in_sets(relation, keys, key_fields, aggregates, sets, parts, below)
        distinct = tuple(dict.fromkeys(key_fields))
        if not distinct and not aggregates:
            # HAVING alone: the one group of all rows.
            aggregates = (self._rows(),)
        more = tuple(field for field in determined(relation, distinct) if field not in distinct)
        grouped = Aggregate(relation, (*distinct, *more), aggregates)
        pairs = tuple(zip(keys, key_fields, strict=True))
        self._no_grouping(parts, keys)
        return Grouped(
            grouped,
            pairs,
            parts,
            frozenset(field.id for field in (*distinct, *more)),
            below - {field.id for field in distinct},
            self.pending,
        )

    def _rows(self) -> tuple[Field, Expression]:
        """An aggregate for a group that has none."""
        count = exp.Count(this=exp.Star(), big_int=True)
        return self.ids.field("rows", BIGINT), typed(count, BIGINT)

    def _no_grouping(self, parts: dict[str, Expression], keys: Sequence[Expression]) -> None:
        for name, part in self.pending.parts.items():
            if isinstance(part, Grouping):
                self._positions(part, keys)
                parts[name] = number(0)

    def _positions(self, part: Grouping, keys: Sequence[Expression]) -> list[int]:
        found = []
        for argument in part.arguments:
            if argument not in keys:
                raise PlanError(
                    "arguments to GROUPING must be grouping expressions", span=span_of(argument)
                )
            found.append(list(keys).index(argument))
        return found

    def _in_sets(
        self,
        relation: Relation,
        keys: Sequence[Expression],
        key_fields: Sequence[Field],
        aggregates: tuple[tuple[Field, Expression], ...],
        sets: Sets,
        parts: dict[str, Expression],
        below: frozenset[str],
    ) -> Grouped:
        """Each row once per set, with nulls for the keys that are not in it, and the set's
        number. The empty set has a group even without rows."""
        outer = tuple(self.ids.like(field) for field in key_fields)
        which = self.ids.field("GROUPING", INT)
        numbered = list(enumerate(sets))
        results: list[Relation] = []
        some = [(n, members) for n, members in numbered if members]
        if some:
            results.append(self._expanded(relation, key_fields, outer, which, aggregates, some))
        for n, members in numbered:
            if not members:
                results.append(self._whole(relation, outer, which, aggregates, n))
        grouped = results[0]
        if len(results) > 1 or not some:
            columns = (*outer, which, *(field for field, _ in aggregates))
            grouped = UnionAll(tuple(results), columns)
        for name, part in self.pending.parts.items():
            if isinstance(part, Grouping):
                parts[name] = _bits(self._positions(part, keys), which, sets)
        return Grouped(
            grouped,
            tuple(zip(keys, outer, strict=True)),
            parts,
            frozenset(field.id for field in outer),
            below,
            self.pending,
        )

    def _expanded(
        self,
        relation: Relation,
        key_fields: Sequence[Field],
        outer: tuple[Field, ...],
        which: Field,
        aggregates: tuple[tuple[Field, Expression], ...],
        sets: Sequence[tuple[int, tuple[int, ...]]],
    ) -> Relation:
        needed = ids_in(*(call for _, call in aggregates))
        kept = tuple(field for field in relation.fields if field.id in needed)
        renamed = {field.id: self.ids.like(field) for field in kept}
        projections = tuple(
            (
                *(column(field) for field in kept),
                *(
                    column(field) if at in members else null(field.type)
                    for at, field in enumerate(key_fields)
                ),
                number(n),
            )
            for n, members in sets
        )
        expanded = Expand(relation, projections, (*renamed.values(), *outer, which))
        mapping = {old: column(new) for old, new in renamed.items()}
        calls = tuple((field, _renamed(call, mapping)) for field, call in aggregates)
        return Aggregate(expanded, (*outer, which), calls)

    def _whole(
        self,
        relation: Relation,
        outer: tuple[Field, ...],
        which: Field,
        aggregates: tuple[tuple[Field, Expression], ...],
        n: int,
    ) -> Relation:
        own = tuple((self.ids.like(field), call) for field, call in aggregates)
        single = Aggregate(relation, (), own or (self._rows(),))
        keys = [(self.ids.like(field), null(field.type)) for field in outer]
        results = [(self.ids.like(field), column(field)) for field, _ in own]
        items = (*keys, (self.ids.like(which), number(n)), *results)
        return Project(single, items)


def _renamed(call: Expression, mapping: dict[str, Expression]) -> Expression:
    def of(node: Expression) -> Expression:
        name = id_of(node)
        return mapping[name].copy() if name in mapping else node

    return transformed(call, of)


def _bits(positions: Sequence[int], which: Field, sets: Sets) -> Expression:
    """GROUPING(..): a bit for each argument that is not in the set."""
    ifs = []
    for n, members in enumerate(sets):
        bits = 0
        for at in positions:
            bits = bits * 2 + (at not in members)
        ifs.append(exp.If(this=compare(exp.EQ, column(which), number(n)), true=number(bits)))
    return typed(exp.Case(ifs=ifs), INT)


def _name_of(call: Expression) -> str:
    while isinstance(call, exp.Filter | exp.WithinGroup):
        call = call.this
    return call.key.upper()


def projected(
    ids: Ids, relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, list[Field]]:
    """The relation with a field for each expression."""
    known = {field.id: field for field in relation.fields}
    added: list[tuple[Field, Expression]] = []
    fields: list[Field] = []
    for expression in expressions:
        name = id_of(expression)
        if name is not None and name in known:
            fields.append(known[name])
            continue
        found = next((field for field, item in added if item == expression), None)
        if found is None:
            found = ids.field("EXPRESSION", kind_of(expression))
            added.append((found, expression))
        fields.append(found)
    if not added:
        return relation, fields
    kept = tuple((field, column(field)) for field in relation.fields)
    return Project(relation, (*kept, *added)), fields
