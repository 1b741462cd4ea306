"""Rewrites of a plan that keep its result: RULES, in order."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators import Operator
from streamsql.planner.plans.invariants import check_rewrite
from streamsql.planner.plans.rewriting import Rule
from streamsql.planner.rules.fold_conditions import fold_conditions
from streamsql.planner.rules.merge_filters import merge_filters
from streamsql.planner.rules.push_having_down import push_having_down
from streamsql.planner.rules.push_where_below_join import push_where_below_join
from streamsql.planner.rules.remove_repartitions import remove_repartitions

__all__ = ["RULES", "Optimized", "Rule", "Step", "optimize"]

RULES: tuple[Rule, ...] = (
    remove_repartitions,
    fold_conditions,
    push_having_down,
    merge_filters,
    push_where_below_join,
)


@dataclass(frozen=True)
class Step:
    """The plan after a rule that changed it."""

    rule: str
    plan: Operator


@dataclass(frozen=True)
class Optimized:
    """The plan after all rules, and the steps that led there."""

    root: Operator
    steps: tuple[Step, ...]


def optimize(plan: Operator) -> Optimized:
    """All rules, one after the other; InternalError if one breaks the plan."""
    steps = []
    for rule in RULES:
        rewritten = rule(plan)
        if rewritten != plan:
            check_rewrite(rule.__name__, plan, rewritten)
            steps.append(Step(rule.__name__, rewritten))
            plan = rewritten
    return Optimized(plan, tuple(steps))
