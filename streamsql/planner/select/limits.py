"""How much an aggregate may collect: the session's limits, noted on its calls for the executor."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.planner.plans.logical import Aggregate, LogicalPlan
from streamsql.planner.plans.modes import operators
from streamsql.planner.types.calls import COLLECTS_FOR
from streamsql.properties import COLLECT_LIST_LIMIT, COLLECT_SET_LIMIT, get_int

LIMIT = "limit"
"""The meta entry of a call: the most elements that its array may have."""

_PROPERTIES = {"COLLECT_LIST": COLLECT_LIST_LIMIT, "COLLECT_SET": COLLECT_SET_LIMIT}


def note_limits(root: LogicalPlan, session: Mapping[str, str]) -> None:
    """Sets the limit of every COLLECT_LIST and COLLECT_SET in the plan, except for the input of
    user aggregates, which must be complete."""
    for operator in operators(root):
        if isinstance(operator, Aggregate):
            for item in operator.aggregates:
                meta = item.expression.meta
                name = _PROPERTIES.get(meta.get("function", ""))
                if name is not None and COLLECTS_FOR not in meta:
                    meta[LIMIT] = get_int(session, name)
