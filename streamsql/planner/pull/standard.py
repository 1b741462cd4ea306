"""SELECT without EMIT with the meaning of standard SQL: a relation, evaluated once."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from streamsql.nodes import Emit, SelectQuery
from streamsql.planner.materialized import view_of
from streamsql.planner.operators import Named, Project
from streamsql.planner.operators.view import ROW_KEY
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.modes import sources_read
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.plans.routes import Batch
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.planner.relational import algebra
from streamsql.planner.relational.algebra import Field, RelationalPlan
from streamsql.planner.relational.expressions import column
from streamsql.planner.relational.planning import plan_query
from streamsql.planner.relational.typing import kind_of
from streamsql.schema import Schema

_MODE = ModeDecision(Mode.MICRO_BATCH, "a pull query ends where its topics end")
_REASON = "it is a query of standard SQL"


def plan_standard_pull(statement: SelectQuery, planning: Planning) -> PullPlan:
    """The answer has the order of the query; its LIMIT and OFFSET are part of the relation."""
    plan = plan_query(statement.query, planning.catalog)
    sorted_plan, order = _with_order(plan)
    view = view_of(replace(sorted_plan, key=None), planning.catalog)
    columns = [c for c in view.schema if c.name != ROW_KEY]
    items = []
    for each in columns:
        value = exp.Column(this=exp.to_identifier(each.name, quoted=True))
        value.type = each.type
        items.append(Named(each.name, value))
    root = Project(view, (), tuple(items))
    shown = columns[: len(plan.output)]
    names = tuple(each.name for each in shown)
    query = QueryPlan(root, _MODE, Emit.CHANGES, sources_read(root), None, names)
    return PullPlan(query, Batch(_REASON), Schema(tuple(shown)), None, order, statement)


def _with_order(plan: RelationalPlan) -> tuple[RelationalPlan, tuple[ResultOrder, ...]]:
    """The plan with a further column for each expression of ORDER BY."""
    if not plan.order:
        return plan, ()
    added = []
    order = []
    for number, ordered in enumerate(plan.order):
        name = f"$order{number}"
        added.append((Field(name, name, kind_of(ordered.this)), ordered.this))
        descending = bool(ordered.args.get("desc"))
        order.append(ResultOrder(name, descending, bool(ordered.args.get("nulls_first"))))
    kept = tuple((field, column(field)) for field in dict.fromkeys(plan.output))
    root = algebra.Project(plan.root, (*kept, *added))
    output = (*plan.output, *(field for field, _ in added))
    return replace(plan, root=root, output=output, order=()), tuple(order)
