"""Whether a change can be carried out by a rebuild.

Rows of a stream that were written stay unchanged. A table's keys are corrected to the new query's
results, so its keys and columns can change if no query reads them.
"""

from __future__ import annotations

from collections.abc import Collection

from streamsql.catalog import Source
from streamsql.planner.changes.classes import Change, ChangeClass
from streamsql.planner.operators import Derived, Sink, operators
from streamsql.planner.plans.modes import lookups
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.schema import Kind

_OF_THE_TOPIC = frozenset({"topic", "key format", "value format", "partitions"})
_OF_THE_RECORDS = frozenset({"key", "columns", "window"})


def rebuild_obstacle(
    old: Source,
    change: Change,
    before: object | None,
    after: QueryPlan | None,
    users: Collection[str],
    writers: Collection[str],
) -> str | None:
    """The reason why a change of class 3 or 4 of a stream or table cannot be carried out by a
    rebuild; None: it can. `before` is the running plan, if known; `users` and `writers` are the
    queries and views that use it, and the queries that write it."""
    if old.lookup is not None:
        return "it is a lookup table, whose queries do not follow its definition"
    if after is None or not isinstance(after.root, Sink):
        return f"no query fills {old.name}, and the records of its topic cannot be rewritten"
    if before is None:
        return "the query that fills it is not running"
    if any(isinstance(node, Derived) and node.by_clock for node in operators(after.root)):
        return "its windows use the wall clock, so reading again gives other windows"
    if looked_up := lookups(after.root):
        names = ", ".join(join.lookup.name for join in looked_up)
        return f"rows that are read again would be joined with the current content of {names}"
    if len(writers) > 1:
        return f"{', '.join(sorted(writers))} write into it"
    clauses = {d.clause for d in change.differences if d.change >= ChangeClass.STATE}
    if found := sorted(clauses & _OF_THE_TOPIC):
        return f"a rebuild keeps the topic: {' and '.join(found)} cannot change"
    if not clauses & _OF_THE_RECORDS:
        return None
    if old.kind is Kind.STREAM:
        return "existing records of a stream cannot be rewritten"
    if users:
        return f"{', '.join(sorted(users))} read its present columns"
    return None
