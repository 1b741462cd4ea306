"""Which queries must not take the others with them: those that have too much in hand.

A task that runs out of memory ends its query alone. Where the JVM dies all the same, nobody says
for whom: whoever was at work is under suspicion. Those that were at work each time are started one
at a time, so that the next death tells which it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.executor.queries.spark_run import Failure, Unstarted

SUSPECT = 2
"""Deaths in a row: from there on a query is started when no other suspect is."""
MOST = 3
"""In a row, of deaths or of a lack of memory: then the query stays stopped."""
TRIAL_SECONDS = 15.0
"""How long a suspect is watched alone once it is live."""
_DIED = "Spark's JVM has died"


def judge(query: PersistentQuery, failure: Failure, queries: Iterable[PersistentQuery]) -> Failure:
    """What a failure means for a query, whose run it has ended."""
    if failure.died:
        if not query.blamed:
            _blame([q for q in queries if q.run is not None])
        return _held(query, failure, query.deaths, f"{_DIED} {MOST} times while it was at work")
    if failure.exhausting:
        query.exhausted += 1
        return _held(query, failure, query.exhausted, f"so it was {MOST} times")
    return failure


def may_start(query: PersistentQuery, queries: Iterable[PersistentQuery]) -> bool:
    """Whether a query that does not run may do so now."""
    if query.held:
        return False
    others = [q for q in queries if q is not query and q.deaths >= SUSPECT]
    return query.deaths < SUSPECT or not any(q.busy or _on_trial(q) for q in others)


def _held(query: PersistentQuery, failure: Failure, times: int, why: str) -> Failure:
    if times < MOST:
        return failure
    query.held = True
    before = f"{failure.text}; " if failure.exhausting else ""
    text = f"{before}{why} in a row: RESUME {query.id} starts it again"
    return Failure(text, False, exhausting=failure.exhausting)


def _blame(running: list[PersistentQuery]) -> None:
    """Once for each death, before any of the runs that ended with it is forgotten."""
    at_work = [q for q in running if not q.asleep and not isinstance(q.run, Unstarted)]
    for query in [q for q in at_work if _on_trial(q)] or at_work:
        query.deaths += 1
    for query in running:
        query.blamed = True


def _on_trial(query: PersistentQuery) -> bool:
    if query.deaths < SUSPECT or query.run is None:
        return False
    catching_up = query.activity is Activity.CATCHING_UP
    return catching_up or time.monotonic() - query.began_at < TRIAL_SECONDS
