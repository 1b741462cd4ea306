"""Which changes are carried out by building a query anew from the log, and what others lack.

Rows of a stream that were written stay as they are. Of a table each key is brought to what the new
query makes of it, so there keys and columns can become others, where nobody reads them.
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
    """Why a change of class 3 or 4 of a stream or table cannot be carried out by building its query
    anew, in words; None: it can. `before` is the plan that runs, if that is known; `users` and
    `writers` are the queries and views that use it, and the queries that write it."""
    if old.lookup is not None:
        return "it is a look-up table, and queries go on as they were made"
    if after is None or not isinstance(after.root, Sink):
        return f"no query fills {old.name}, and what its topic holds is not written anew"
    if before is None:
        return "the query that fills it does not run"
    if any(isinstance(node, Derived) and node.by_clock for node in operators(after.root)):
        return "its windows go by the clock, so rows that are read again are in other ones"
    if looked_up := lookups(after.root):
        names = ", ".join(join.lookup.name for join in looked_up)
        return f"rows that are read again would be looked up in {names} as that is now"
    if len(writers) > 1:
        return f"{', '.join(sorted(writers))} write into it"
    clauses = {d.clause for d in change.differences if d.change >= ChangeClass.STATE}
    if found := sorted(clauses & _OF_THE_TOPIC):
        return f"its topic stays as it is, and {' and '.join(found)} with it"
    if not clauses & _OF_THE_RECORDS:
        return None
    if old.kind is Kind.STREAM:
        return "the records of a stream that are there are not written anew"
    if users:
        return f"{', '.join(sorted(users))} read the columns that it has"
    return None
