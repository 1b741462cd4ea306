"""What the grammar takes of standard SQL beyond the dialect of streams and tables: refused here."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from streamsql.errors import Span, UnsupportedError
from streamsql.nodes import (
    Expression,
    Join,
    JoinType,
    MatchRecognize,
    Query,
    Relation,
    SelectAll,
    SetOperator,
    SourceRef,
    Subquery,
    TableFunction,
    WindowFunction,
)
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.select.named_queries import expressions_of, queries_in

_STANDARD = "SELECT in a session with SET 'streamsql.sql.semantics' = 'standard'"
_HINT = f"CREATE MATERIALIZED VIEW takes all of standard SQL, and so does a {_STANDARD}."
_RECURSION = "WITH RECURSIVE"
_EXPRESSIONS: dict[type[exp.Expr], str] = {
    exp.Subquery: "A query as a value",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Tuple: "A row value",
    exp.Slice: "A slice of an array",
    exp.WithinGroup: "WITHIN GROUP",
    exp.TryCast: "TRY_CAST",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Pow: "The operator ^",
    exp.BitwiseAnd: "The operator &",
    exp.BitwiseOr: "The operator |",
    exp.BitwiseXor: "The operator #",
    exp.BitwiseNot: "The operator ~ before a number",
    exp.BitwiseLeftShift: "The operator <<",
    exp.BitwiseRightShift: "The operator >>",
    exp.ArrayContainsAll: "The operator @>",
    exp.ArrayContainedBy: "The operator <@",
    exp.ArrayOverlaps: "The operator &&",
    exp.JSONBContainsTopKey: "The operator ?",
    exp.JSONBContainsAnyTopKeys: "The operator ?|",
    exp.JSONBContainsAllTopKeys: "The operator ?&",
    exp.JSONBDeleteAtPath: "The operator #-",
}


_HINTS = {
    "EXCEPT ALL": "EXCEPT gives each row once.",
    "INTERSECT ALL": "INTERSECT gives each row once.",
    "DISTINCT ON": "One row for each a is QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) "
    "= 1.",
    "The operator &&": "Both conditions are joined by AND.",
    "WITHIN GROUP": "PERCENTILE_CONT(share) is: the value between the two nearest ones.",
    "ORDER BY inside a call": "Aggregates process values in order of arrival.",
    "CROSS JOIN": "Sources are joined by JOIN .. ON ..",
    "EXPLODE in FROM": "EXPLODE and its like stand in the SELECT.",
}
"""What the dialect has instead."""


def check_dialect(query: Query) -> None:
    """UnsupportedError for the first clause or expression of standard SQL that only the relational
    planner knows."""
    for what, span in _beyond(query):
        raise UnsupportedError(
            f"{what} is not supported in queries of streams and tables.",
            hint=_hint(what),
            span=span,
        )


def _hint(what: str) -> str:
    if what == _RECURSION:
        return f"A {_STANDARD} takes it."
    return " ".join(filter(None, (_HINTS.get(what), _HINT)))


Found = Iterator[tuple[str, Span | None]]


def _beyond(query: Query) -> Found:
    if query.recursive:
        yield _RECURSION, query.span
    for table in query.common_tables:
        if table.columns:
            yield "A list of columns in WITH", table.span
        yield from _beyond(table.query)
    for number, select in enumerate((query, *query.union)):
        if number and (select.union or select.order_by or select.common_tables or _bounded(select)):
            yield "A query in parentheses of a set operation", select.span
        yield from _beyond_select(select)


def _bounded(query: Query) -> bool:
    return query.limit is not None or query.offset is not None


def _beyond_select(select: Query) -> Found:
    if select.set_operator in (SetOperator.EXCEPT_ALL, SetOperator.INTERSECT_ALL):
        yield select.set_operator.value, select.span
    if select.matched is not None:
        yield "CORRESPONDING or BY NAME", select.span
    if not select.items:
        yield "SELECT without a column", select.span
    for item in select.items:
        if isinstance(item, SelectAll) and item.excluded:
            yield "EXCLUDE", item.span
    if select.distinct_on:
        yield "DISTINCT ON", span_of(select.distinct_on[0])
    if select.groups_by_all:
        yield "GROUP BY ALL", select.span
    if select.grouping_sets is not None:
        yield "GROUPING SETS, ROLLUP or CUBE", select.span
    if select.with_ties:
        yield "FETCH FIRST .. WITH TIES", select.span
    yield from _beyond_relation(select.relation)
    for expression in expressions_of(select):
        yield from _beyond_expression(expression)


def _beyond_relation(relation: Relation) -> Found:
    match relation:
        case Join():
            yield from _beyond_relation(relation.left)
            if relation.type in (JoinType.CROSS, JoinType.SEMI, JoinType.ANTI):
                yield f"{relation.type.value} JOIN", relation.span
            if relation.natural:
                yield "NATURAL JOIN", relation.span
            if relation.asof:
                yield "ASOF JOIN", relation.span
            if isinstance(relation.right, Join):
                yield "A join in parentheses", relation.right.span
            yield from _beyond_relation(relation.right)
        case Subquery():
            if relation.lateral:
                yield "LATERAL", relation.span
            if relation.columns:
                yield "A list of columns behind an alias", relation.span
            yield from _beyond(relation.query)
        case TableFunction():
            yield f"{relation.call.name} in FROM", relation.span
        case WindowFunction() | MatchRecognize():
            yield from _beyond_relation(relation.source)
        case SourceRef() if relation.columns:
            yield "A list of columns behind an alias", relation.span


def _beyond_expression(expression: Expression) -> Found:
    for node in expression.walk():
        if (what := _EXPRESSIONS.get(type(node))) is not None:
            yield what, span_of(node)
        elif isinstance(node, exp.Window) and _nulls_placed(node):
            yield "NULLS FIRST or LAST in OVER", span_of(node)
        elif isinstance(node, exp.Array) and node.args.get("query") is not None:
            yield "ARRAY(query)", span_of(node)
        elif isinstance(node, exp.WindowSpec) and (
            node.args["kind"] in ("GROUPS", "SESSION") or node.args.get("exclude")
        ):
            yield "GROUPS, SESSION or EXCLUDE in a frame", span_of(node)
        elif isinstance(node, exp.Anonymous) and any(
            isinstance(argument, exp.Order) for argument in node.expressions
        ):
            yield "ORDER BY inside a call", span_of(node)
    for inner in queries_in(expression):
        yield from _beyond(inner)


def _nulls_placed(window: exp.Window) -> bool:
    order = window.args.get("order")
    return order is not None and any(
        key.args.get("nulls_first") is not None for key in order.expressions
    )
