"""AS OF: as of which epoch, or which time, a pull query reads its views."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import AsOf, Expression, Query, SelectExpression, SelectQuery, ValueRows
from streamsql.parser import to_sql
from streamsql.planner.operators import Scan, operators
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.statements import PullPlan, ReadAsOf
from streamsql.planner.pull.standard import plan_standard_pull
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.types.timestamps import parse_timestamp
from streamsql.types import TIMESTAMP, quote

_HINT = "Leave AS OF out."


def with_as_of(plan: PullPlan, as_of: AsOf, planning: Planning) -> PullPlan:
    """The plan, which reads views as of then. UnsupportedError if it reads anything else."""
    scanned = [each.source for each in operators(plan.query.root) if isinstance(each, Scan)]
    other = next((quote(source.name) for source in scanned if not source.is_view), None)
    if other is not None or not scanned:
        subject = "this SELECT reads none" if other is None else f"{other} is none"
        raise UnsupportedError(
            f"AS OF is for materialized views, and {subject}.", hint=_HINT, span=as_of.span
        )
    if as_of.time is None:
        return replace(plan, as_of=ReadAsOf(f"epoch {as_of.epoch}", epoch=as_of.epoch))
    text = f"the newest epoch that began by {to_sql(as_of.time)}"
    return replace(plan, as_of=ReadAsOf(text, time=_time(as_of.time, planning)))


def check_no_as_of(statement: SelectQuery) -> None:
    if statement.as_of is not None:
        raise UnsupportedError(
            "AS OF is for a SELECT without EMIT: a push query follows the changes from now on.",
            hint="Leave AS OF out. FROM v FROM TIMESTAMP '..' reads the changes since then.",
            span=statement.as_of.span,
        )


def _time(written: Expression, planning: Planning) -> PullPlan | int:
    if isinstance(written, exp.Literal) and written.is_string:
        millis = parse_timestamp(written.name)
        if millis is None:
            raise PlanError(
                f"Failed to parse timestamp '{written.name}'",
                hint="Write it as '2024-05-01 12:30:00'.",
                span=span_of(written),
            )
        return millis
    value = SelectExpression(exp.Cast(this=written.copy(), to=TIMESTAMP))
    return plan_standard_pull(SelectQuery(Query((value,), ValueRows())), planning)
