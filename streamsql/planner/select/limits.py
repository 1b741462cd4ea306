"""The maximum size of collected arrays: the session's limits, noted on calls for the executor."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.planner.operators import Aggregate, Operator, operators
from streamsql.planner.types.calls import COLLECTS_FOR
from streamsql.properties import COLLECT_LIST_LIMIT, COLLECT_SET_LIMIT, get_int

LIMIT = "limit"
"""The meta entry of a call: the maximum number of elements of its array."""

_PROPERTIES = {"COLLECT_LIST": COLLECT_LIST_LIMIT, "COLLECT_SET": COLLECT_SET_LIMIT}


def note_limits(root: Operator, session: Mapping[str, str]) -> None:
    """Gives every call of COLLECT_LIST and COLLECT_SET in the plan its limit; the values for a
    user's aggregate have none, since its result would be wrong."""
    for operator in operators(root):
        if isinstance(operator, Aggregate):
            for item in operator.aggregates:
                meta = item.expression.meta
                name = _PROPERTIES.get(meta.get("function", ""))
                if name is not None and COLLECTS_FOR not in meta:
                    meta[LIMIT] = get_int(session, name)
