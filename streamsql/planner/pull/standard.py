"""SELECT without EMIT in standard SQL: the relation that the query is, evaluated once by Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from streamsql.errors import InternalError
from streamsql.nodes import (
    Emit,
    Query,
    SelectAll,
    SelectExpression,
    SelectItem,
    SelectQuery,
    SourceRef,
)
from streamsql.planner.materialized import scans_of
from streamsql.planner.operators import Named, Project, View, operators
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.modes import sources_read
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.planner.pull.planning import choose_route
from streamsql.planner.pull.restrictions import check_enabled
from streamsql.planner.relational.algebra import Field, Generate, RelationalPlan, relations
from streamsql.planner.relational.dependent import expressions
from streamsql.planner.relational.planning import plan_query
from streamsql.planner.scopes.scope import column_node
from streamsql.planner.types.inference import unrepeatable_calls
from streamsql.properties import SEMANTICS, get_text
from streamsql.schema import Column, Schema

_MODE = ModeDecision(Mode.MICRO_BATCH, "a pull query ends where its topics end")
_HIDDEN = "$ORDER_"
"""Begins the names of columns that only sort the result."""
_MOMENTARY = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Rand, exp.Uuid)
_COMPARISONS = (
    exp.And,
    exp.Or,
    exp.Paren,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Between,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Neg,
)


def is_standard(query: Query, planning: Planning) -> bool:
    """Whether a SELECT has the meaning of standard SQL in this session."""
    return query.emit is None and get_text(planning.session, SEMANTICS) == "standard"


def is_common(query: Query) -> bool:
    """Whether a SELECT means the same in ksqlDB's dialect, whose stores answer it without Spark:
    columns of one relation, where comparisons of columns and constants hold."""
    plain = Query(
        query.items, query.relation, where=query.where, limit=query.limit, offset=query.offset
    )
    source = query.relation
    return (
        plain == query
        and isinstance(source, SourceRef)
        and SourceRef(source.name, source.alias) == source
        and all(map(_is_column, query.items))
        and (query.where is None or all(isinstance(n, _COMPARISONS) for n in query.where.walk()))
    )


def _is_column(item: SelectItem) -> bool:
    return isinstance(item, SelectAll) or (
        isinstance(item, SelectExpression) and isinstance(item.expression, exp.Column)
    )


def plan_standard_pull(statement: SelectQuery, planning: Planning) -> PullPlan:
    check_enabled(statement.query, planning)
    plan = plan_query(statement.query, planning.catalog)
    fields, names = _columns(plan)
    columns = Schema(tuple(Column(n, f.type) for n, f in zip(names, fields, strict=True)))
    view = View(scans_of(plan, planning.catalog), plan, columns, fields)
    root = Project(view, (), tuple(Named(c.name, column_node(c)) for c in columns))
    shown = names[: len(plan.output)]
    query = QueryPlan(
        root, _MODE, Emit.CHANGES, sources_read(root), None, shown, {}, unoptimized=root
    )
    schema = Schema(columns.columns[: len(shown)])
    order = tuple(_sorted(plan, fields, names))
    return PullPlan(query, choose_route(root), schema, order=order, statement=statement)


def standard_view(plan: PullPlan) -> View | None:
    """The relation of a plan of plan_standard_pull; None for another plan."""
    root = plan.query.root
    return root.input if isinstance(root, Project) and isinstance(root.input, View) else None


def is_momentary(plan: PullPlan) -> bool:
    """Whether Spark's plan holds the time, or a seed, of its making."""
    view = standard_view(plan)
    if view is None:
        of_all = (each for node in operators(plan.query.root) for each in node.expressions)
        return any(True for each in of_all for _ in unrepeatable_calls(each))
    return any(
        expression.find(*_MOMENTARY)
        for relation in relations(view.plan.root)
        for expression in expressions(relation)
    )


def makes_rows(plan: PullPlan) -> bool:
    """Whether a table function, such as GENERATE_SERIES, makes rows of the plan."""
    view = standard_view(plan)
    return view is not None and any(isinstance(r, Generate) for r in relations(view.plan.root))


def _columns(plan: RelationalPlan) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The fields of the answer and those that it is sorted by, with names of their own."""
    by_id = {field.id: field for field in plan.root.fields}
    sorts = [by_id[_id_of(order)] for order in plan.order]
    hidden = dict.fromkeys(field for field in sorts if field not in plan.output)
    names = [*_distinct(field.name for field in plan.output)]
    names += [f"{_HIDDEN}{number}" for number, _ in enumerate(hidden)]
    return (*plan.output, *hidden), tuple(names)


def _id_of(order: exp.Expr) -> str:
    if not isinstance(order, exp.Ordered) or not isinstance(order.this, exp.Column):
        raise InternalError(f"a result is sorted by {order!r}")
    return str(order.this.name)


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """Names of which each is there once: a number is put behind those that are repeated."""
    taken: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.add(unique)
        yield unique


def _sorted(
    plan: RelationalPlan, fields: tuple[Field, ...], names: tuple[str, ...]
) -> Iterator[ResultOrder]:
    by_id = {field.id: name for field, name in zip(fields, names, strict=True)}
    for order in plan.order:
        name = by_id[_id_of(order)]
        yield ResultOrder(name, bool(order.args.get("desc")), bool(order.args.get("nulls_first")))
