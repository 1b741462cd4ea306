"""A pull query's plan as text: its route and its operators."""

from __future__ import annotations

from streamsql.planner.explain.plan import tree_lines, verbose_lines
from streamsql.planner.plans.routes import (
    Batch,
    KeyLookup,
    KeyRange,
    Route,
    StoredTables,
    TableScan,
    WindowRange,
)
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.types import quote

MAX_SHOWN = 5


def explain_pull(plan: PullPlan, *, verbose: bool = False) -> str:
    """Route and operators; verbose: the operators after each rule that changed them."""
    query = plan.query
    lines = [
        f"Pull query: {query.root.kind.value}",
        f"Answered by: {_answered_by(plan.route, query.reads)}",
        f"Columns: {plan.schema}",
    ]
    if plan.as_of is not None:
        lines.append(f"As of: {plan.as_of.text}")
    if plan.order:
        lines.append(f"Order: {', '.join(map(_order, plan.order))}")
    if plan.limit is not None:
        lines.append(f"Limit: {plan.limit}")
    if plan.offset:
        lines.append(f"Offset: {plan.offset}")
    return "\n".join([*lines, "", *(verbose_lines(query) if verbose else tree_lines(query.root))])


def _answered_by(route: Route, reads: tuple[str, ...]) -> str:
    if isinstance(route, Batch):
        return f"Spark's batch engine, because {route.reason}"
    if isinstance(route, StoredTables) and not route.names:
        return "no store, from constants"
    if isinstance(route, StoredTables):
        *names, last = map(quote, route.names)
        if names:
            return f"the stores of {', '.join(names)} and {last}, from all of their rows"
        return f"the store of {last}, from all of its rows"
    return f"the store of {quote(reads[0])}, by {route_text(route)}"


def route_text(route: KeyLookup | KeyRange | TableScan) -> str:
    match route:
        case KeyLookup(keys):
            shown = ", ".join(_key(key) for key in keys[:MAX_SHOWN])
            more = ", .." if len(keys) > MAX_SHOWN else ""
            text = f"lookup of {len(keys)} key{'' if len(keys) == 1 else 's'}"
            text += f": {shown}{more}" if keys else ""
        case KeyRange():
            text = f"range of keys: {_range(route)}"
        case TableScan():
            text = "table scan"
    return text + _window(route.window)


def _key(key: tuple[object, ...]) -> str:
    parts = [repr(part) if isinstance(part, str) else str(part) for part in key]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _range(route: KeyRange) -> str:
    low = "" if route.low is None else f"{'>=' if route.low_inclusive else '>'} {route.low!r}"
    high = "" if route.high is None else f"{'<=' if route.high_inclusive else '<'} {route.high!r}"
    return " and ".join(part for part in (low, high) if part)


def _window(window: WindowRange | None) -> str:
    if window is None:
        return ""
    bounds = (
        ("WINDOWSTART >=", window.start_from),
        ("WINDOWSTART <=", window.start_to),
        ("WINDOWEND >=", window.end_from),
        ("WINDOWEND <=", window.end_to),
    )
    shown = [f"{text} {value}" for text, value in bounds if value is not None]
    return f", windows with {' and '.join(shown)}"


def _order(order: ResultOrder) -> str:
    direction = " DESC" if order.descending else ""
    return quote(order.column) + direction + (" NULLS FIRST" if order.nulls_first else "")
