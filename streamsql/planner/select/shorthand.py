"""Expands short forms before planning: FILTER and DISTINCT of aggregates, QUALIFY, and GROUP BY by
the number or the alias of a SELECT column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlglot import exp

from streamsql.errors import PlanError, UnsupportedError
from streamsql.functions import REGISTRY, AggregateFunction
from streamsql.functions.user import UserAggregate
from streamsql.nodes import (
    Expression,
    Join,
    Query,
    SelectAll,
    SelectExpression,
    SelectItem,
    SourceRef,
    Subquery,
)
from streamsql.planner.operators import Ranks
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import aggregates_in

RANK = "$RANK"
"""The hidden column of QUALIFY."""
_OF_DISTINCT = {
    "COUNT": "COUNT_DISTINCT_EXACT",
    "SUM": "SUM_DISTINCT",
    "AVG": "AVG_DISTINCT",
    "MIN": "MIN",
    "MAX": "MAX",
    "COLLECT_LIST": "COLLECT_SET",
    "COLLECT_SET": "COLLECT_SET",
    "ARRAY_AGG": "COLLECT_SET",
    "STRING_AGG": "STRING_AGG_DISTINCT",
}


_TAKING_BACK = {"MAX": "ARG_MAX", "MIN": "ARG_MIN"}
"""Equivalents with retraction, which ksqlDB's functions lack."""
_OF_TWO = frozenset({"ARG_MAX", "ARG_MIN"})
"""Aggregates that skip a row if their second argument is NULL."""


def written_out(query: Query, *, bounded: bool) -> Query:
    """The SELECT without FILTER, DISTINCT in calls, and QUALIFY."""
    if query.qualify is not None:
        query = _qualified(query, bounded=bounded)
    having = query.having and plain(query.having)
    return replace(query, items=changed(query.items, plain), having=having)


def changed(
    items: Iterable[SelectItem], change: Callable[[Expression], Expression]
) -> tuple[SelectItem, ...]:
    return tuple(
        replace(item, expression=change(item.expression))
        if isinstance(item, SelectExpression)
        else item
        for item in items
    )


# -- aggregates ----------------------------------------------------------------------------------


def plain(expression: Expression) -> Expression:
    """The expression without FILTER, and without DISTINCT in calls."""

    def written(node: Expression) -> Expression:
        if isinstance(node, exp.Filter) and isinstance(node.this, exp.Anonymous):
            return _filtered(_distinct(node.this), node)
        return _distinct(node) if isinstance(node, exp.Anonymous) else node

    if expression.find(exp.Filter, exp.Distinct) is None:
        return expression
    return expression.transform(written)


def _distinct(call: exp.Anonymous) -> exp.Anonymous:
    """COUNT(DISTINCT x) as the equivalent function."""
    distinct = call.expressions[0] if call.expressions else None
    if not isinstance(distinct, exp.Distinct):
        return call
    name = _OF_DISTINCT.get(call.name)
    if name is None or (len(distinct.expressions) > 1 and name == "COUNT_DISTINCT_EXACT"):
        several = "one value" if name else "no DISTINCT"
        raise UnsupportedError(
            f"{call.name} takes {several}{' after DISTINCT' if name else ''}",
            hint="Aggregate functions that take DISTINCT are "
            f"{', '.join(sorted(_OF_DISTINCT))}; several columns are STRUCT(a := a, b := b).",
            span=span_of(call),
        )
    made = exp.Anonymous(this=name, expressions=[e.copy() for e in distinct.expressions])
    made.meta.update(call.meta)
    return made


def _filtered(call: exp.Anonymous, node: exp.Filter) -> Expression:
    """The call over values that are NULL where the condition fails."""
    function = REGISTRY.find(call.name)
    if not isinstance(function, AggregateFunction):
        raise PlanError(
            f"FILTER requires an aggregate function: {call.name} is not one.",
            span=span_of(node),
        )
    if isinstance(function, UserAggregate) or _keeps_nulls(call):
        raise UnsupportedError(
            f"{expression_text(call)} counts NULLs in, so that it cannot have a FILTER",
            hint="Filter the rows by WHERE, in a query of its own.",
            span=span_of(node),
        )
    met = exp.NullSafeEQ(this=node.expression.copy(), expression=exp.Boolean(this=True))
    met.meta.update(node.expression.meta)
    made = call.copy()
    if function.filters:
        made.append("expressions", met)
        return made
    arguments = [argument.copy() for argument in call.expressions] or [exp.Star()]
    place = 1 if call.name in _OF_TWO and len(arguments) > 1 else 0
    value = arguments[place]
    of_rows = isinstance(value, exp.Star)
    case = exp.Case(ifs=[exp.If(this=met, true=exp.Literal.number(1) if of_rows else value)])
    case.meta.update(value.meta or node.meta)
    arguments[place] = case
    made.set("expressions", arguments)
    return made


def _keeps_nulls(call: exp.Anonymous) -> bool:
    last = call.expressions[-1] if len(call.expressions) > 1 else None
    return isinstance(last, exp.Boolean) and call.name.endswith("_BY_OFFSET") and not last.this


def taking_back(query: Query) -> Query:
    """The SELECT with MIN and MAX for rows that change: those of a query's table. (For a named
    table they are an error, as in ksqlDB.)"""

    def written(node: Expression) -> Expression:
        name = _TAKING_BACK.get(node.name) if isinstance(node, exp.Anonymous) else None
        if name is None or len(node.expressions) != 1:
            return node
        (value,) = node.expressions
        call = exp.Anonymous(this=name, expressions=[value.copy(), value.copy()])
        call.meta.update(node.meta)
        return call

    items = changed(query.items, lambda expression: expression.transform(written))
    return replace(query, items=items, having=query.having and query.having.transform(written))


# -- GROUP BY ------------------------------------------------------------------------------------


def grouped(query: Query, scope: Scope) -> Query:
    """GROUP BY with expressions instead of numbers, and of names that only the SELECT has."""
    aliases = aliases_of(query)

    def meant(value: Expression) -> Expression:
        if isinstance(value, exp.Literal) and not value.is_string and value.name.isdecimal():
            return _numbered(value, query)
        bare = isinstance(value, exp.Column) and not value.table
        if bare and value.name in aliases and not scope.has_column(value.name):
            return _grouping(aliases[value.name], value)
        return value

    return replace(query, group_by=tuple(map(meant, query.group_by)))


def aliases_of(query: Query) -> dict[str, Expression]:
    aliases = {
        item.alias: item.expression
        for item in query.items
        if isinstance(item, SelectExpression) and item.alias is not None
    }
    # `AS "metric"` names a column `metric` in databases that fold to lower case.
    return {**{alias.upper(): named for alias, named in aliases.items()}, **aliases}


def _numbered(value: exp.Literal, query: Query) -> Expression:
    number = int(value.name)
    item = query.items[number - 1] if 1 <= number <= len(query.items) else None
    stars = [i for i in query.items[:number] if not isinstance(i, SelectExpression)]
    if not isinstance(item, SelectExpression) or stars:
        raise PlanError(
            f"GROUP BY {number}: the SELECT has no such column.",
            hint="A number is the position of an expression in the SELECT, from 1, not counting "
            "columns "
            "of *.",
            span=span_of(value),
        )
    return _grouping(item.expression, value)


def _grouping(expression: Expression, value: Expression) -> Expression:
    for call in aggregates_in(expression):
        raise PlanError(
            f"GROUP BY {expression_text(value)} is {expression_text(call)}, an aggregate of the "
            "group itself.",
            span=span_of(value),
        )
    return expression.copy()


# -- QUALIFY -------------------------------------------------------------------------------------


def _qualified(query: Query, *, bounded: bool) -> Query:
    """The equivalent Top-N of `QUALIFY ROW_NUMBER() OVER (..) <= n`."""
    assert query.qualify is not None
    span = span_of(query.qualify)
    if query.group_by or query.distinct or query.window or isinstance(query.relation, Join):
        raise UnsupportedError(
            "QUALIFY ranks the rows of one source, without JOIN, GROUP BY, DISTINCT or WINDOW.",
            hint="Put that into a subquery: SELECT * FROM (SELECT ..) QUALIFY ..",
            span=span,
        )
    condition = _over_aliases(query.qualify, query)
    windows = list(condition.find_all(exp.Window))
    if not windows or any(w != windows[0] for w in windows):
        raise UnsupportedError(
            "QUALIFY needs one ROW_NUMBER() OVER (..).",
            hint="For example QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) = 1.",
            span=span,
        )
    window = windows[0]
    name, selected = _shown(query, window, bounded=bounded)
    rank = SelectExpression(window.copy(), name, span_of(window) or span)
    for key in window.args.get("partition_by") or []:
        if not isinstance(key, exp.Column):
            raise UnsupportedError(
                "QUALIFY takes columns in PARTITION BY.",
                hint="Compute the expression in a subquery.",
                span=span_of(key) or span,
            )
    inner = Query(
        (SelectAll(span=query.span), rank), query.relation, where=query.where, span=query.span
    )
    ranked = _ranked(window, name)
    items = changed(selected, lambda expression: expression.transform(ranked))
    relation = Subquery(inner, _alias(query), query.span)
    where = condition.transform(ranked)
    return replace(query, items=items, relation=relation, where=where, qualify=None)


def _shown(
    query: Query, window: exp.Window, *, bounded: bool
) -> tuple[str, tuple[SelectItem, ...]]:
    """Name of the rank column, and the surrounding SELECT items. A pull query hides it. In a
    continuous Top-N it is part of the key, under its name in the SELECT or that of the function,
    and `*` includes it."""
    if bounded or window.this.name not in Ranks.__members__:
        return RANK, query.items
    own = [i for i in query.items if isinstance(i, SelectExpression) and i.expression == window]
    name = (own[0].alias if own else None) or (
        window.this.name if window.this.name == Ranks.ROW_NUMBER.name or own else RANK
    )
    starred = any(isinstance(item, SelectAll) for item in query.items)
    return name, tuple(i for i in query.items if not starred or i not in own[:1])


def _over_aliases(condition: Expression, query: Query) -> Expression:
    aliases = {
        item.alias: item.expression
        for item in query.items
        if isinstance(item, SelectExpression) and isinstance(item.expression, exp.Window)
    }

    def original(node: Expression) -> Expression:
        if isinstance(node, exp.Column) and not node.table and node.name in aliases:
            return aliases[node.name].copy()
        return node

    return condition.transform(original)


def _ranked(window: exp.Window, name: str) -> Callable[[Expression], Expression]:
    """Replaces the window by the column that holds the rank."""

    def ranked(node: Expression) -> Expression:
        if node != window:
            return node
        column = exp.Column(this=exp.to_identifier(name, quoted=True))
        column.meta.update(node.meta)
        return column

    return ranked


def _alias(query: Query) -> str | None:
    relation = query.relation
    if isinstance(relation, SourceRef):
        return relation.alias or relation.name
    return getattr(relation, "alias", None)
