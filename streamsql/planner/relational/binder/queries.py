"""Queries: WITH, set operations, and the clauses that apply to all of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql import nodes, types
from streamsql.catalog import Catalog
from streamsql.errors import BindError, PlanError, TypeMismatchError, UnsupportedError
from streamsql.nodes import Expression, Matched, SetOperator
from streamsql.planner.relational import typing
from streamsql.planner.relational.algebra import (
    Added,
    Aggregate,
    Field,
    Project,
    Recursion,
    Relation,
    SetKind,
    SetOperation,
    TopRows,
    UnionAll,
)
from streamsql.planner.relational.binder.scopes import Bound, Scope
from streamsql.planner.relational.binder.select import Ends, SelectBinder
from streamsql.planner.relational.dependent import free
from streamsql.planner.relational.expressions import Ids, cast, column
from streamsql.planner.scopes.spans import span_of
from streamsql.types import NULL, NUMERIC, SQLType


@dataclass(frozen=True)
class QueryBinder:
    """Binds queries, and those inside of them."""

    catalog: Catalog
    ids: Ids = field(default_factory=Ids)

    def bind(self, query: nodes.Query, outer: Scope | None = None) -> Bound:
        outer = self._with(query, outer or Scope())
        if query.emit is not None:
            raise PlanError(
                "EMIT has no meaning in a relational query",
                hint="A materialized view always holds the query's result. EMIT ON WINDOW CLOSE "
                "ends its whole query.",
                span=query.span,
            )
        if query.window is not None:
            raise UnsupportedError(
                "WINDOW TUMBLING and its like are not supported in a relational query.",
                hint="Group by date_trunc.",
                span=query.span,
            )
        if query.partition_by:
            raise PlanError("PARTITION BY belongs to streams, not to a relational query")
        if not query.union:
            return self._select(query, outer, Ends.of(query))
        return self._combined(query, outer)

    def _select(self, query: nodes.Query, outer: Scope, ends: Ends) -> Bound:
        return SelectBinder(self.catalog, self.ids, self.bind, query, outer, ends).bind()

    def _with(self, query: nodes.Query, outer: Scope) -> Scope:
        """The scope with the queries of WITH, each of which sees those before it."""
        if not query.common_tables:
            return outer
        tables: dict[str, Bound] = {}
        scope = Scope(parent=outer, tables=tables)
        for table in query.common_tables:
            before = Scope(parent=outer, tables=dict(tables))
            if query.recursive and table.name in _names(table.query):
                bound = self._recursion(table, before)
            else:
                bound = self.bind(table.query, before)
            names = _column_names(table, bound)
            renamed = [replace(f, name=name) for f, name in zip(bound.fields, names, strict=True)]
            tables[table.name] = replace(bound, fields=tuple(renamed))
        return scope

    # -- WITH RECURSIVE --------------------------------------------------------------------------

    def _recursion(self, table: nodes.CommonTable, outer: Scope) -> Bound:
        first, last, distinct = _parts(table)
        base = self.bind(first, outer)
        kinds = [_wide(typing.settled(_open(base, f))) for f in base.fields]
        names = _column_names(table, base)
        while True:
            columns = [self.ids.field(n, k) for n, k in zip(names, kinds, strict=True)]
            added = Bound(Added(columns[0].id, tuple(columns)), tuple(columns))
            step = self.bind(last, Scope(parent=outer, tables={table.name: added}))
            both = self._kinds(added, step, "UNION", last)
            if both == kinds:
                break
            kinds = [_wide(kind) for kind in both]
        result = tuple(self.ids.like(f) for f in columns)
        one, other = self._as(base, kinds), self._as(step, kinds)
        relation = Recursion(columns[0].id, one, other, distinct, result)
        if free(relation):
            raise UnsupportedError(
                "A recursive query cannot refer to an outer query.", span=table.span
            )
        return Bound(relation, result)

    # -- set operations --------------------------------------------------------------------------

    def _combined(self, query: nodes.Query, outer: Scope) -> Bound:
        first = replace(query, union=(), order_by=(), limit=None, offset=None, common_tables=())
        parts = [_Part(SetOperator.UNION_ALL, None, self._select(first, outer, Ends()))]
        for part in query.union:
            bound = self.bind(replace(part, set_operator=SetOperator.UNION_ALL), outer)
            parts.append(_Part(part.set_operator, part.matched, bound))
        for operators in (_TIGHT, _LOOSE):
            parts = self._reduced(parts, operators, query)
        return self._ended(parts[0].bound, query)

    def _reduced(
        self,
        parts: Sequence[_Part],
        operators: Sequence[SetOperator],
        query: nodes.Query,
    ) -> list[_Part]:
        result = [parts[0]]
        for part in parts[1:]:
            if part.operator in operators:
                left = result[-1]
                result[-1] = replace(left, bound=self._both(left.bound, part, query))
            else:
                result.append(part)
        return result

    def _both(self, left: Bound, part: _Part, query: nodes.Query) -> Bound:
        operator, right = part.operator, part.bound
        if part.matched is not None:
            left, right = self._by_names(left, right, part.matched, query)
        kinds = self._kinds(left, right, operator.value.removesuffix(" ALL"), query)
        one, other = self._as(left, kinds), self._as(right, kinds)
        columns = tuple(
            self.ids.field(f.name, kind) for f, kind in zip(left.fields, kinds, strict=True)
        )
        relation: Relation
        if operator in (SetOperator.UNION, SetOperator.UNION_ALL):
            inputs = (
                (*_merged(one), *_merged(other))
                if operator is SetOperator.UNION_ALL
                else (one, other)
            )
            relation = UnionAll(inputs, columns)
            if operator is SetOperator.UNION:
                relation = Aggregate(relation, columns)
        else:
            which = SetKind.INTERSECT if operator in _TIGHT else SetKind.EXCEPT
            every = operator in (SetOperator.INTERSECT_ALL, SetOperator.EXCEPT_ALL)
            relation = SetOperation(one, other, which, every, columns)
        return Bound(relation, columns)

    def _by_names(
        self, left: Bound, right: Bound, matched: Matched, query: nodes.Query
    ) -> tuple[Bound, Bound]:
        """Both sides with the columns that belong together at the same places."""
        sides = [{f.name: f for f in bound.fields} for bound in (left, right)]
        for bound, named in zip((left, right), sides, strict=True):
            if len(named) < len(bound.fields):
                raise PlanError("two columns of a set operation have one name", span=query.span)
        one, other = sides
        if matched.every:
            names = (*one, *(name for name in other if name not in one))
        else:
            names = matched.columns or tuple(name for name in one if name in other)
        if not matched.every and not (names and one.keys() & other.keys() >= set(names)):
            missing = next((name for name in names if name not in one or name not in other), None)
            what = f"both do not have a column {missing}" if missing else "they share no column"
            raise BindError(f"queries cannot correspond: {what}", span=query.span)
        return self._padded(left, names, other), self._padded(right, names, one)

    def _padded(self, bound: Bound, names: Sequence[str], others: Mapping[str, Field]) -> Bound:
        """The columns of these names; NULL for one that only the other side has."""
        own = {f.name: f for f in bound.fields}
        added = [self.ids.field(name, others[name].type) for name in names if name not in own]
        if not added:
            return replace(bound, fields=tuple(own[name] for name in names))
        items = [(f, column(f)) for f in bound.fields]
        items += [(f, cast(exp.Null(), f.type)) for f in added]
        own |= {f.name: f for f in added}
        relation = Project(bound.relation, tuple(items))
        return replace(bound, relation=relation, fields=tuple(own[name] for name in names))

    def _kinds(self, left: Bound, right: Bound, operator: str, query: nodes.Query) -> list[SQLType]:
        """The types of the columns that both sides have together."""
        if len(left.fields) != len(right.fields):
            raise TypeMismatchError(
                f"each {operator} query must have the same number of columns", span=query.span
            )
        kinds = []
        for a, b in zip(left.fields, right.fields, strict=True):
            kind = typing.common([_open(left, a), _open(right, b)])
            if kind is None:
                raise TypeMismatchError(
                    f"{operator} types {typing.name(a.type)} and {typing.name(b.type)} cannot be "
                    "matched",
                    hint="CAST one of the columns.",
                    span=query.span,
                )
            kinds.append(typing.settled(kind))
        return kinds

    def _as(self, bound: Bound, kinds: Sequence[SQLType]) -> Relation:
        """The query's columns, and no others, as ones of the types."""
        if bound.relation.fields == bound.fields and all(
            f.type == kind for f, kind in zip(bound.fields, kinds, strict=True)
        ):
            return bound.relation
        items: list[tuple[Field, Expression]] = []
        taken: set[str] = set()
        for f, kind in zip(bound.fields, kinds, strict=True):
            if f.type == kind and f.id not in taken:
                taken.add(f.id)
                items.append((f, column(f)))
            else:
                items.append((self.ids.field(f.name, kind), typing.coerced(column(f), kind)))
        return Project(bound.relation, tuple(items))

    def _ended(self, bound: Bound, query: nodes.Query) -> Bound:
        order = tuple(self._by_name(node, bound) for node in query.order_by)
        ends = Ends.of(query)
        relation = bound.relation
        if ends.cut:
            relation = TopRows(relation, (), order, ends.limit, ends.offset, ends.ties)
        return Bound(relation, bound.fields, order)

    def _by_name(self, node: Expression, bound: Bound) -> Expression:
        value = node.this
        found: list[Field] = []
        if isinstance(value, exp.Literal) and value.name.isdigit() and not value.is_string:
            found = list(bound.fields[int(value.name) - 1 : int(value.name)])
        elif isinstance(value, exp.Column) and not value.table:
            found = [f for f in bound.fields if f.name == value.name]
        if not found:
            raise PlanError(
                "ORDER BY on a set operation takes names or numbers of its columns",
                hint="Write the set operation as a subquery in FROM to order by an expression.",
                span=span_of(node),
            )
        descending = bool(node.args.get("desc"))
        nulls = node.args.get("nulls_first")
        return exp.Ordered(
            this=column(found[0]),
            desc=descending,
            nulls_first=descending if nulls is None else nulls,
        )


@dataclass(frozen=True)
class _Part:
    """One of a set operation, and how it is added to those before it."""

    operator: SetOperator
    matched: Matched | None
    bound: Bound


_TIGHT = (SetOperator.INTERSECT, SetOperator.INTERSECT_ALL)
_LOOSE = (
    SetOperator.UNION_ALL,
    SetOperator.UNION,
    SetOperator.EXCEPT,
    SetOperator.EXCEPT_ALL,
)


def _open(bound: Bound, field: Field) -> SQLType:
    """The type of a column, which a NULL or a text literal leaves open."""
    relation = bound.relation
    if isinstance(relation, Project):
        value = next((value for own, value in relation.items if own.id == field.id), None)
        if isinstance(value, exp.Literal) and value.is_string:
            return typing.UNKNOWN
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Null):
            return NULL
    return field.type


def _column_names(table: nodes.CommonTable, bound: Bound) -> tuple[str, ...]:
    """The names that WITH gives to the first columns of a query, and those of its others."""
    if len(table.columns) > len(bound.fields):
        raise BindError(
            f"{table.name} has {len(bound.fields)} columns available but "
            f"{len(table.columns)} columns specified",
            span=table.span,
        )
    return (*table.columns, *(f.name for f in bound.fields[len(table.columns) :]))


def _parts(table: nodes.CommonTable) -> tuple[nodes.Query, nodes.Query, bool]:
    """Of a recursive query: that without recursion, that with it, and whether UNION joins them."""
    query = table.query
    *others, last = query.union or (query,)
    first = replace(query, union=tuple(others), common_tables=())
    union = last.set_operator in (SetOperator.UNION, SetOperator.UNION_ALL)
    ends = query.order_by or query.common_tables or Ends.of(query).cut or last.matched
    if not query.union or not union or table.name in _names(first) or ends:
        raise UnsupportedError(
            f"{table.name} is recursive and not of the form first UNION [ALL] second, of which the "
            "second one alone names it.",
            hint="ORDER BY and LIMIT belong to the query that reads it.",
            span=table.span,
        )
    plain = replace(last, set_operator=SetOperator.UNION_ALL)
    return first, plain, last.set_operator is SetOperator.UNION


def _wide(kind: SQLType) -> SQLType:
    """A step may give a DECIMAL more digits."""
    return NUMERIC if types.is_decimal(kind) else kind


def _merged(relation: Relation) -> tuple[Relation, ...]:
    return relation.relations if isinstance(relation, UnionAll) else (relation,)


def _names(query: nodes.Query) -> set[str]:
    """The names of relations in FROM."""
    found: set[str] = set()

    def look(node: nodes.Relation) -> None:
        match node:
            case nodes.Join():
                look(node.left)
                look(node.right)
            case nodes.SourceRef():
                found.add(node.name)
            case nodes.Subquery():
                found.update(_names(node.query))

    for select in (query, *query.union):
        look(select.relation)
    return found
