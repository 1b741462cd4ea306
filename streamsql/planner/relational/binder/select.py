"""One SELECT, from FROM to LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import BindError, PlanError, UnsupportedError, did_you_mean
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    Field,
    Project,
    Relation,
    TopRows,
)
from streamsql.planner.relational.binder.expressions import Allowed, ExpressionBinder
from streamsql.planner.relational.binder.from_clause import FromBinder
from streamsql.planner.relational.binder.grouping import Grouped, Groups, Sets
from streamsql.planner.relational.binder.pending import AggregateCall, Grouping, Pending
from streamsql.planner.relational.binder.scopes import Bound, Scope
from streamsql.planner.relational.binder.subqueries import Subqueries
from streamsql.planner.relational.binder.windowing import (
    Windows,
    generated,
    windows_in,
)
from streamsql.planner.relational.expressions import Ids, column, id_of
from streamsql.planner.relational.typing import coerced, condition, kind_of, settled
from streamsql.planner.scopes.spans import span_of

UNNAMED = "?column?"
"""PostgreSQL's name of a column that is an expression."""

BindQuery = Callable[[nodes.Query, Scope], Bound]


@dataclass(frozen=True)
class Item:
    """A column of a SELECT list: its name and expression."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Ends:
    """The clauses behind SELECT .. FROM .. HAVING."""

    order: tuple[Expression, ...] = ()
    limit: int | None = None
    offset: int = 0
    ties: bool = False

    @classmethod
    def of(cls, query: nodes.Query) -> Ends:
        return cls(query.order_by, query.limit, query.offset or 0, query.with_ties)

    @property
    def cut(self) -> bool:
        return self.limit is not None or self.offset > 0


class SelectBinder:
    """Binds one SELECT."""

    def __init__(
        self,
        catalog: Catalog,
        ids: Ids,
        bind_query: BindQuery,
        select: nodes.Query,
        outer: Scope,
        ends: Ends,
    ) -> None:
        self._catalog = catalog
        self._ids = ids
        self._query = bind_query
        self._select = select
        self._outer = outer
        self._ends = ends
        self._pending = Pending()
        self._subqueries = Subqueries(ids, self._pending)
        self._scope = Scope()

    def bind(self) -> Bound:
        select = self._select
        source = FromBinder(self._catalog, self._ids, self._query)
        relation, scope = source.bind(select.relation, self._outer, self._outer)
        self._scope = replace(scope, parent=self._outer)
        if select.where is not None:
            where = self._binder("WHERE").condition(select.where)
            relation = self._subqueries.filtered(relation, where)
        items = self._items()
        order = self._order(items)
        qualify = self._clause("QUALIFY", select.qualify, aggregates=True, windows=True)
        having = self._clause("HAVING", select.having, aggregates=True)
        on = [self._named(node, items) for node in select.distinct_on]
        relation, over = self._grouped(relation, items, having is not None)
        values = [over(item.expression) for item in items]
        sorts = [over(value) for value in order]
        on = [over(value) for value in on]
        if having is not None:
            relation = self._subqueries.filtered(relation, over(having))
        late = [*values, *sorts, *on]
        if qualify is not None:
            late.append(over(qualify))
        relation, late = self._windowed(relation, late, over)
        if qualify is not None:
            relation = self._subqueries.filtered(relation, late.pop())
        relation, late = self._subqueries.placed(relation, late)
        relation, late = generated(self._ids, self._pending, relation, late)
        split = len(values), len(values) + len(sorts)
        return self._shown(
            relation, items, late[: split[0]], late[split[0] : split[1]], late[split[1] :]
        )

    def _binder(self, clause: str, **more: bool) -> ExpressionBinder:
        return ExpressionBinder(self._scope, self._pending, self._query, Allowed(clause, **more))

    def _clause(
        self, clause: str, node: Expression | None, *, aggregates: bool, windows: bool = False
    ) -> Expression | None:
        if node is None:
            return None
        binder = self._binder(clause, aggregates=aggregates, windows=windows)
        return condition(binder.bind(node), clause)

    # -- SELECT list -----------------------------------------------------------------------------

    def _items(self) -> list[Item]:
        binder = self._binder("SELECT", aggregates=True, windows=True, generated=True)
        items: list[Item] = []
        for item in self._select.items:
            match item:
                case nodes.SelectAll():
                    items += self._all(item)
                case nodes.SelectExpression(expression, alias):
                    bound = binder.bind(expression)
                    bound = coerced(bound, settled(kind_of(bound)))
                    items.append(Item(alias or name_of(expression), bound))
                case nodes.SelectStruct():
                    raise UnsupportedError(
                        "->* is not supported in a relational query.",
                        hint="Name the fields.",
                        span=item.span,
                    )
        return items

    def _all(self, item: nodes.SelectAll) -> list[Item]:
        found = self._every(item)
        for name in item.excluded:
            if all(name != known.name for known in found):
                raise BindError(
                    f"column {name} in EXCLUDE does not exist",
                    hint=did_you_mean(name, [known.name for known in found]),
                    span=item.span,
                )
        return [known for known in found if known.name not in item.excluded]

    def _every(self, item: nodes.SelectAll) -> list[Item]:
        if item.source is None:
            if not self._scope.entries:
                raise BindError("SELECT * with no tables specified is not valid", span=item.span)
            return [Item(name, column(field)) for name, field in self._scope.every()]
        entry = self._scope.of(item.source)
        if entry is None:
            raise BindError(f"missing FROM-clause entry for table {item.source}", span=item.span)
        return [Item(name, column(field)) for name, field in entry.columns]

    # -- ORDER BY and GROUP BY -------------------------------------------------------------------

    def _order(self, items: Sequence[Item]) -> list[Expression]:
        """The expressions of ORDER BY: a column of the result by its name or number, or an
        expression over FROM."""
        return [self._named(node.this, items, clause="ORDER BY") for node in self._ends.order]

    def _named(
        self, node: Expression, items: Sequence[Item], clause: str = "DISTINCT ON"
    ) -> Expression:
        number = _ordinal(node)
        if number is not None:
            return self._numbered(number, items, clause, node)
        if isinstance(node, exp.Column) and not node.table:
            found = [item for item in items if item.name == node.name]
            if len(found) > 1 and any(f.expression != found[0].expression for f in found):
                raise BindError(f"{clause} {node.name} is ambiguous", span=span_of(node))
            if found:
                return found[0].expression
        bound = self._binder(clause, aggregates=True, windows=True).bind(node)
        return coerced(bound, settled(kind_of(bound)))

    def _numbered(
        self, number: int, items: Sequence[Item], clause: str, node: Expression
    ) -> Expression:
        if not 1 <= number <= len(items):
            raise PlanError(f"{clause} position {number} is not in select list", span=span_of(node))
        return items[number - 1].expression

    def _key(self, node: Expression, items: Sequence[Item]) -> Expression:
        """An expression of GROUP BY: over FROM first, then a column of the result."""
        number = _ordinal(node)
        if number is not None:
            return self._numbered(number, items, "GROUP BY", node)
        if isinstance(node, exp.Column) and not node.table:
            found = [item for item in items if item.name == node.name]
            if found and not self._scope.local(node.name):
                return found[0].expression
        bound = self._binder("GROUP BY").bind(node)
        return coerced(bound, settled(kind_of(bound)))

    def _grouped(
        self, relation: Relation, items: Sequence[Item], having: bool
    ) -> tuple[Relation, Callable[[Expression], Expression]]:
        """The groups, and how an expression over rows becomes one over them."""
        select = self._select
        waits = any(isinstance(p, AggregateCall) for p in self._pending.parts.values())
        grouped = bool(select.group_by) or select.grouping_sets is not None
        if not (grouped or waits or having):
            if any(isinstance(p, Grouping) for p in self._pending.parts.values()):
                raise PlanError("arguments to GROUPING must be grouping expressions")
            return relation, lambda expression: expression
        if select.groups_by_all:
            every = (item.expression.copy() for item in items)
            keys = [key for key in every if not self._pending.in_(key, AggregateCall)]
        else:
            keys = [self._key(node, items) for node in select.group_by]
        for key in keys:
            if self._pending.in_(key, AggregateCall):
                raise PlanError("aggregate functions are not allowed in GROUP BY")
        sets = self._sets(keys, items)
        groups = Groups(self._ids, self._pending, self._subqueries)
        result: Grouped = groups.of(relation, keys, sets)
        return result.relation, result.over

    def _sets(self, keys: list[Expression], items: Sequence[Item]) -> Sets | None:
        if self._select.grouping_sets is None:
            return None
        sets = []
        for members in self._select.grouping_sets:
            places = []
            for node in members:
                key = self._key(node, items)
                if key not in keys:
                    keys.append(key)
                places.append(keys.index(key))
            sets.append(tuple(places))
        return tuple(sets)

    # -- windows and the result ------------------------------------------------------------------

    def _windowed(
        self,
        relation: Relation,
        expressions: list[Expression],
        over: Callable[[Expression], Expression],
    ) -> tuple[Relation, list[Expression]]:
        found = windows_in(self._pending, expressions)
        if not found:
            return relation, expressions
        windows = {name: over(window) for name, window in found.items()}
        for (name, window), original in zip(windows.items(), found.values(), strict=True):
            window.type = original.type
            windows[name] = window
        operators = Windows(self._ids, self._pending, self._subqueries)
        relation, results = operators.placed(relation, windows)
        return relation, [self._pending.resolved(expression, results) for expression in expressions]

    def _shown(
        self,
        relation: Relation,
        items: Sequence[Item],
        values: Sequence[Expression],
        sorts: Sequence[Expression],
        on: Sequence[Expression],
    ) -> Bound:
        select = self._select
        fields = self._fields(relation, items, values)
        shown = list(zip(fields, values, strict=True))
        if select.distinct and not select.distinct_on:
            for sort in sorts:
                if not any(sort == value for value in values):
                    raise PlanError(
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                        span=span_of(sort),
                    )
        hidden: list[tuple[Field, Expression]] = []
        found = [self._sorted(sort, shown, hidden) for sort in (*sorts, *on)]
        result: Relation = Project(relation, (*shown, *hidden))
        if select.distinct and not select.distinct_on:
            result = Aggregate(result, tuple(fields))
        order = tuple(
            exp.Ordered(
                this=column(field), desc=bool(node.args.get("desc")), nulls_first=_nulls(node)
            )
            for field, node in zip(found, self._ends.order, strict=False)
        )
        if on:
            result = self._distinct_on(result, found[len(sorts) :], found[: len(sorts)], order)
        if self._ends.cut:
            ends = self._ends
            result = TopRows(result, (), order, ends.limit, ends.offset, ends.ties)
        return Bound(result, tuple(fields), order)

    def _distinct_on(
        self,
        relation: Relation,
        on: Sequence[Field],
        sorts: Sequence[Field],
        order: tuple[Expression, ...],
    ) -> Relation:
        first = sorts[: len(set(on))]
        if sorts and not set(first) <= set(on):
            raise PlanError(
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                span=self._select.span,
            )
        return TopRows(relation, tuple(dict.fromkeys(on)), order, 1)

    def _fields(
        self, relation: Relation, items: Sequence[Item], values: Sequence[Expression]
    ) -> list[Field]:
        """The fields of the result; one that passes through under its name keeps its id."""
        known = {field.id: field for field in relation.fields}
        taken: set[str] = set()
        fields = []
        for item, value in zip(items, values, strict=True):
            name = id_of(value)
            if name is not None and name in known and name not in taken:
                taken.add(name)
                fields.append(replace(known[name], name=item.name))
            else:
                fields.append(self._ids.field(item.name, kind_of(value)))
        return fields

    def _sorted(
        self,
        sort: Expression,
        shown: Sequence[tuple[Field, Expression]],
        hidden: list[tuple[Field, Expression]],
    ) -> Field:
        for field, value in (*shown, *hidden):
            if value == sort:
                return field
        field = self._ids.field("ORDER", kind_of(sort))
        hidden.append((field, sort))
        return field


def _nulls(node: Expression) -> bool:
    given = node.args.get("nulls_first")
    return bool(node.args.get("desc")) if given is None else bool(given)


def _ordinal(node: Expression) -> int | None:
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    return None


def name_of(node: Expression) -> str:
    """The name that PostgreSQL gives to an unnamed column."""
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Cast():
            inner = name_of(node.this)
            return inner if inner != UNNAMED else str(node.args["to"].this.value).upper()
        case exp.Dot():
            return str(node.expression.name)
        case exp.Bracket() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return name_of(node.this)
        case exp.IgnoreNulls() | exp.RespectNulls() | exp.AtTimeZone():
            return name_of(node.this)
        case exp.JSONExtract() | exp.JSONExtractScalar():
            return UNNAMED
        case exp.Anonymous():
            return str(node.name).upper()
        case exp.Case():
            return "CASE"
        case exp.Array():
            return "ARRAY"
        case exp.Exists():
            return "EXISTS"
        case exp.Extract():
            return "EXTRACT"
        case exp.Subquery():
            return _query_name(node.this)
        case exp.Func() if not isinstance(node, exp.Connector):
            return node.sql_name().upper()
    return UNNAMED


def _query_name(query: nodes.Query) -> str:
    item = query.items[0] if query.items else None
    if isinstance(item, nodes.SelectExpression):
        return item.alias or name_of(item.expression)
    return UNNAMED
