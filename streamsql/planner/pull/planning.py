"""SELECT without EMIT: its result, and whether a table's store or Spark's batch engine produces it.
The operators are those of a push query, because both must return the same rows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.ksqldb import says
from streamsql.nodes import Emit, Expression, SelectQuery
from streamsql.planner.operators import Filter, Operator, Project, Scan, TopN, operators
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.modes import python_functions, sources_read
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.plans.routes import Batch, Route, StoredTables
from streamsql.planner.plans.starts import starts_of
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.pull.conditions import lookup_of
from streamsql.planner.pull.order import naming_order_by, ordered, with_order_columns
from streamsql.planner.pull.restrictions import (
    check_allowed,
    check_columns,
    check_enabled,
    known_by_clause,
)
from streamsql.planner.rules import optimize
from streamsql.planner.select.build import Built, build_query
from streamsql.planner.select.checks import CHECKS
from streamsql.planner.select.limits import note_limits
from streamsql.schema import WINDOW_BOUNDS, Column, Kind, Namespace, Schema

_BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)
_MODE = ModeDecision(Mode.MICRO_BATCH, "a pull query ends where its topics end")


def plan_pull(statement: SelectQuery, planning: Planning) -> PullPlan:
    asked = statement.query
    check_enabled(asked, planning)
    if asked.limit is not None and asked.limit < 0:
        raise PlanError(
            "Pull queries don't support negative integers in the LIMIT clause.",
            hint="Give an integer of 0 or more.",
            span=asked.span,
            ksqldb=says("pull-limit"),
        )
    check_columns(asked)
    with known_by_clause(asked):
        return _planned(statement, planning)


def _planned(statement: SelectQuery, planning: Planning) -> PullPlan:
    asked = statement.query
    query, sorting = with_order_columns(asked)
    with naming_order_by(asked):
        built = build_query(query, planning.catalog, None, bounded=True)
    _check_ranked(built.root)
    columns = built.columns[: len(built.columns) - sorting.added]
    for check in CHECKS:
        check(built.root)
    optimized = optimize(built.root).root
    assert isinstance(optimized, Project)
    note_limits(optimized, planning.session)
    plan = QueryPlan(
        optimized,
        _MODE,
        Emit.CHANGES,
        sources_read(built.root),
        None,
        columns,
        starts_of(built.root),
        unoptimized=built.root,
    )
    route = choose_route(built.root)
    check_allowed(asked, built, route, planning)
    schema = _answer_schema(built, columns)
    return PullPlan(
        plan, route, schema, asked.limit, ordered(sorting, built), statement, asked.offset or 0
    )


def _check_ranked(root: Operator) -> None:
    for operator in operators(root):
        if isinstance(operator, TopN):
            ranked = operator.input
            if ranked.kind is Kind.TABLE and not ranked.schema.key:
                raise PlanError(
                    "The rows of a table without its key cannot be ranked.",
                    hint="Select all columns of the key in the subquery.",
                )


# -- route ---------------------------------------------------------------------------------------


def choose_route(root: Project) -> Route:
    """By stores if all sources have one, else by Spark."""
    reason = _needs_batch(root)
    if reason is not None:
        return Batch(reason)
    below: Operator = root.input
    conditions: list[Expression] = []
    while isinstance(below, Filter):
        conditions.append(below.condition)
        below = below.input
    if isinstance(below, Scan):
        return lookup_of(conditions, below.source)
    scans = (operator for operator in operators(root) if isinstance(operator, Scan))
    return StoredTables(tuple(dict.fromkeys(scan.source.name for scan in scans)))


def _needs_batch(root: Project) -> str | None:
    for operator in operators(root):
        if operator.needs_batch is not None:
            return operator.needs_batch
        name = next(iter(python_functions(operator)), None)
        if name is not None:
            return f"Spark runs Python functions such as {name}"
    return None


# -- the columns of the answer -------------------------------------------------------------------


def _answer_schema(built: Built, names: tuple[str, ...]) -> Schema:
    """The displayed columns: of streams no column is a key, of tables those that identify the
    row."""
    found = {column.name: column for column in built.root.schema}
    items = {item.name: item.expression for item in (*built.root.key, *built.root.value)}
    if built.root.kind is Kind.STREAM:
        return Schema(tuple(Column(name, found[name].type) for name in names))
    headers = {column.name: column for column in built.source.origin.source.schema.headers}
    columns = []
    for name in names:
        column = found[name]
        expression = items[name]
        if isinstance(expression, exp.Column) and expression.name in _BOUNDS:
            column = replace(column, namespace=Namespace.KEY)
        elif isinstance(expression, exp.Column) and expression.name in headers:
            origin = headers[expression.name]
            column = replace(column, namespace=Namespace.HEADERS, header=origin.header)
        columns.append(column)
    return Schema(tuple(columns))
