"""Two filters one on the other become one."""

from __future__ import annotations

from streamsql.planner.plans.logical import Filter, LogicalPlan
from streamsql.planner.plans.rewriting import conjunction, transform_up


def merge_filters(plan: LogicalPlan) -> LogicalPlan:
    """The plan with one Filter in place of one over another."""
    return transform_up(plan, _merge)


def _merge(plan: LogicalPlan) -> LogicalPlan:
    if isinstance(plan, Filter) and isinstance(plan.input, Filter):
        below = plan.input
        return Filter(below.input, conjunction([below.condition, plan.condition]), below.clause)
    return plan
