"""Which queries must not take the others with them: those that have too much in hand.

A task that runs out of memory ends its query alone. A JVM that somebody has killed says nothing of
its queries: they all go on at once. Where it dies of something else, nobody says for whom: whoever
was at work is under suspicion. Of those that were at work each time half are started, and the
others once these have stood the test; after each further death half as many, so that in the end
there is one which it must have been.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.executor.queries.spark_run import Failure, Unstarted

SUSPECT = 2
"""Deaths in a row: from there on a query is started beside few other suspects, and then alone."""
MOST = 3
"""In a row, of deaths, the last one of them while no other was watched, or of a lack of memory:
then the query stays stopped."""
TRIAL_SECONDS = 15.0
"""How long a suspect is watched once it is live."""
_DIED = "Spark's JVM has died"


def judge(
    query: PersistentQuery,
    failure: Failure,
    queries: Iterable[PersistentQuery],
    was_killed: Callable[[], bool],
) -> Failure:
    """What a failure means for a query, whose run it has ended; `was_killed` tells whether
    somebody has ended the JVM, if it is gone."""
    if failure.died:
        if not query.blamed:
            _blame([q for q in queries if q.run is not None], was_killed())
        why = f"{_DIED} {query.deaths} times while it was at work"
        return _held(query, failure, query.deaths if query.alone else 0, why)
    if failure.exhausting:
        query.exhausted += 1
        return _held(query, failure, query.exhausted, f"so it was {MOST} times")
    return failure


def may_start(query: PersistentQuery, queries: Iterable[PersistentQuery]) -> bool:
    """Whether a query that does not run may do so now."""
    if query.held:
        return False
    if query.deaths < SUSPECT:
        return True
    suspects = [q for q in queries if q.deaths >= SUSPECT and not q.held]
    watched = [q for q in suspects if q is not query and (q.busy or _on_trial(q))]
    worst = max(q.deaths for q in [query, *watched])
    return len(watched) < max(1, sum(q.deaths == worst for q in suspects) // 2)


def _held(query: PersistentQuery, failure: Failure, times: int, why: str) -> Failure:
    if times < MOST:
        return failure
    query.held = True
    before = f"{failure.text}; " if failure.exhausting else ""
    text = f"{before}{why} in a row: RESUME {query.id} starts it again"
    return Failure(text, False, exhausting=failure.exhausting)


def _blame(running: list[PersistentQuery], was_killed: bool) -> None:
    """Once for each death, before any of the runs that ended with it is forgotten."""
    for query in running:
        query.blamed = True
    if was_killed:
        return
    at_work = [q for q in running if not q.asleep and not isinstance(q.run, Unstarted)]
    suspects = [q for q in at_work if _on_trial(q)] or at_work
    for query in suspects:
        query.deaths += 1
        query.alone = len(suspects) == 1


def _on_trial(query: PersistentQuery) -> bool:
    if query.deaths < SUSPECT or query.run is None:
        return False
    catching_up = query.activity is Activity.CATCHING_UP
    return catching_up or time.monotonic() - query.began_at < TRIAL_SECONDS
