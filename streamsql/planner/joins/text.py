"""A join in one line, as EXPLAIN and messages show it."""

from __future__ import annotations

from streamsql.planner.plans.combined import parts_of
from streamsql.planner.plans.join_windows import JoinWindow
from streamsql.planner.plans.logical import Join
from streamsql.planner.plans.windows import duration, words
from streamsql.planner.scopes.text import expression_text


def join_text(plan: Join) -> str:
    """`LEFT OUTER stream-stream ON A.X = B.Y WITHIN 1 HOUR`."""
    pairs = zip(parts_of(plan.left_on), parts_of(plan.right_on), strict=False)
    equality = " AND ".join(f"{expression_text(a)} = {expression_text(b)}" for a, b in pairs)
    if plan.condition is not None:
        equality += f" AND {expression_text(plan.condition)}"
    windows = " and equal windows" if plan.windowed else ""
    within = f" {within_text(plan.window)}" if plan.window else ""
    return f"{plan.type.value} {plan.join_kind.value} ON {equality}{windows}{within}"


def within_text(window: JoinWindow) -> str:
    if window.is_forever:
        return "AT ANY TIME"
    before, after = (words(duration(ms)) for ms in (window.before_ms, window.after_ms))
    size = before if before == after else f"({before}, {after})"
    grace = "" if window.grace_ms is None else f" GRACE {words(duration(window.grace_ms))}"
    return f"WITHIN {size}{grace}"
