"""Two filters one on the other become one."""

from __future__ import annotations

from streamsql.planner.operators import Filter, Operator
from streamsql.planner.plans.rewriting import conjunction, transform_up


def merge_filters(plan: Operator) -> Operator:
    return transform_up(plan, _merge)


def _merge(plan: Operator) -> Operator:
    if isinstance(plan, Filter) and isinstance(plan.input, Filter):
        below = plan.input
        return Filter(below.input, conjunction([below.condition, plan.condition]), below.clause)
    return plan
