"""Crash isolation: finds the query that ends the JVM, by bisection.

A task that runs out of memory fails its query alone. A JVM that was killed from outside implicates
no query: all start again. If it exits for an unknown reason, all active queries are suspects. From
the second crash in a row on, half of the suspects start, and the others once these have run for a
while; each further crash halves their number, until one is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streamsql.executor.queries.events import JvmDied
from streamsql.executor.queries.phases import CatchingUp, Deferred
from streamsql.executor.queries.query import Query

SUSPECT = 2
"""Crashes in a row: from there on a query starts beside few other suspects, and then alone."""
TRIAL_SECONDS = 15.0
"""How long a suspect is watched once it is live."""


def crashed(queries: Iterable[Query], now: float, *, was_killed: bool) -> Mapping[str, JvmDied]:
    """The event for each query whose run a JVM crash has ended and that has not been counted."""
    ended = [q for q in queries if q.run is not None and not is_counted(q)]
    active = [] if was_killed else [q for q in ended if not q.health.asleep]
    suspects = [q for q in active if _on_trial(q, now)] or active
    return {q.id: JvmDied(q.run, q in suspects, alone=len(suspects) == 1) for q in ended}


def is_counted(query: Query) -> bool:
    """Whether the crash that has ended the query's run has been counted."""
    return not isinstance(query.active, Deferred | None) and query.active.counted


def may_start(query: Query, queries: Iterable[Query], now: float) -> bool:
    """Whether a query at rest may start beside the other suspects."""
    if query.failures.crashes < SUSPECT:
        return True
    suspects = [q for q in queries if q.failures.crashes >= SUSPECT and not q.failures.held]
    watched = [q for q in suspects if q.id != query.id and (q.busy or _on_trial(q, now))]
    worst = max(q.failures.crashes for q in [query, *watched])
    return len(watched) < max(1, sum(q.failures.crashes == worst for q in suspects) // 2)


def _on_trial(query: Query, now: float) -> bool:
    active = query.active
    if query.failures.crashes < SUSPECT or isinstance(active, Deferred | None):
        return False
    return isinstance(active, CatchingUp) or now - active.began_at < TRIAL_SECONDS
