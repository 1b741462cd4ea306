"""A query plan as text: deterministic, without ids of objects or addresses."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.planner.operators import Export, Operator, Sink, state_stores
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.modes import lookups
from streamsql.planner.plans.query_plan import ModeDecision, QueryPlan
from streamsql.planner.rules import optimize
from streamsql.status import QueryInfo
from streamsql.types import quote


def explain(plan: QueryPlan, *, verbose: bool = False, running: QueryInfo | None = None) -> str:
    """Mode, state and operators; verbose: the operators after each rule that changed them.
    `running`: the running query of this plan, whose current mode may differ from the planned
    one."""
    name = f"Query {plan.query_id}" if plan.query_id else "Push query"
    lines = [
        f"{name}: {plan.root.kind.value}, EMIT {plan.emit.value}",
        *_mode_lines(plan.mode, running),
        *_delivery_lines(plan),
        *_state_lines(plan.root),
        *_lookup_lines(plan.root),
        "",
    ]
    return "\n".join([*lines, *(verbose_lines(plan) if verbose else tree_lines(plan.root))])


def _mode_lines(planned: ModeDecision, running: QueryInfo | None) -> list[str]:
    line = f"{planned.mode.value}, because {planned.reason}"
    if running is None or running.mode == planned.mode.value:
        return [f"Mode: {line}"]
    return [f"Mode: {running.mode}, because {running.reason}", f"Planned mode: {line}"]


def verbose_lines(plan: QueryPlan) -> list[str]:
    """The operators before the rules, and after each one that changed them."""
    start = plan.unoptimized or plan.root
    lines = ["Before the rules:", *_indented(tree_lines(start))]
    for step in optimize(start).steps:
        lines += [f"After {step.rule}:", *_indented(tree_lines(step.plan))]
    if start == plan.root:
        lines.append("No rule changed it.")
    return lines


def _delivery_lines(plan: QueryPlan) -> list[str]:
    """The delivery guarantee, where it is not the default."""
    if isinstance(plan.root, Export):
        return [f"Delivery: exactly once, for readers of the {plan.root.read_as}"]
    if plan.guarantee is Guarantee.AT_LEAST_ONCE or not isinstance(plan.root, Sink):
        return []
    return [f"Delivery: exactly once; {_RECOGNIZED[replay_of(plan.root)]}"]


_RECOGNIZED = {
    Replay.SOURCE: "after a failure, rows are recognized by the record that caused them",
    Replay.CAUSE: "after a failure, rows are recognized by the stream's record that caused them",
    Replay.KEY: "after a failure, the newest row of each key is written again",
    Replay.TASK: "each task of a batch is committed as a whole",
}


def _state_lines(root: Operator) -> list[str]:
    stores = state_stores(root)
    if not stores:
        return ["State: none"]
    return ["State:", *_indented([store.text for store in stores])]


def _lookup_lines(root: Operator) -> list[str]:
    names = ", ".join(dict.fromkeys(quote(join.lookup.name) for join in lookups(root)))
    then = "at the time a row is processed; a row that is processed again may find another one"
    return [f"Looked up: {names}, {then}"] if names else []


def tree_lines(plan: Operator) -> list[str]:
    """One operator per line, its inputs indented below; schemas below operators that define
    columns."""
    lines = [plan.line, *_indented(plan.details)]
    for source in plan.inputs:
        lines.extend(_indented(tree_lines(source)))
    return lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
