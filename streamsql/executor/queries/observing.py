"""Looks at runs that are well: how far a query is, whether it sleeps, whether its mode is right.

Each look costs Spark's JVM a little of what live queries need; one that sleeps needs none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from streamsql.executor.queries.launching import Launcher, Watch
from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.executor.queries.pulse import Pulse
from streamsql.executor.queries.spark_run import Unstarted
from streamsql.properties import PROCESSING_MODE, get_text
from streamsql.status import QueryState

LOOK_SECONDS = 0.1
LIVE_LOOK_SECONDS = 1.0
STEADY_SECONDS = 30.0
"""A query that has run for so long is no longer held to have failed before."""
BEHIND_SECONDS = 5.0
"""How long a live query must be far behind before it goes back to catching up."""


_FILLING = (QueryState.STARTING, QueryState.CATCHING_UP)


def is_fed(
    query: PersistentQuery, queries: Iterable[PersistentQuery], outage: str | None, near: int
) -> bool:
    """Whether others are still filling what a query reads."""
    return any(
        other is not query
        and other.definition.writes in query.definition.topics
        and other.state(outage, near) in _FILLING
        and query.definition.writes not in other.definition.topics
        for other in queries
    )


class Observer:
    """Looks at one query after the other; used by the thread that supervises them."""

    def __init__(self, launcher: Launcher, watch: Watch) -> None:
        self._launcher = launcher
        self._watch = watch
        self._pulse = Pulse()
        self._asked_at = float("-inf")

    def sleeps_on(self, query: PersistentQuery, now: float) -> bool:
        """Whether the query sleeps, as it did at the last look: there is nothing new to be seen."""
        if now - self._asked_at >= (LIVE_LOOK_SECONDS if query.arrived else LOOK_SECONDS):
            self._pulse, self._asked_at = self._launcher.pulse(), now
        if not self._pulse.answers:
            # Of a JVM that has died it is not to be forgotten who slept.
            return False
        was, query.asleep = query.asleep, query.id in self._pulse.asleep
        # What it had read before it fell asleep may not have been seen yet.
        sleeps = was and query.asleep and query.lag == 0
        if sleeps:
            query.look_at = now + LIVE_LOOK_SECONDS
        return sleeps

    def has_ended(self, query: PersistentQuery) -> bool:
        """Whether its run is over."""
        live = query.activity is Activity.LIVE and query.id in self._pulse.running
        return query.run is not None and not live and not query.run.active()

    def look(self, query: PersistentQuery, now: float) -> None:
        """Note how far it is; after that, its lag is known."""
        run = query.run
        assert run is not None
        live = query.activity is Activity.LIVE
        if live and now - query.began_at > STEADY_SECONDS:
            query.steady()
        moment = self._watch.moment
        if moment.taken > query.began_at:  # An earlier one may be of its previous run.
            known, real_time = query.positions or {}, live and query.real_time
            reached = moment.pulse.reached(known, query.id, real_time=real_time)
            query.was_at(moment.progress(reached))
        arrives = live and query.real_time and not query.arrived
        if arrives:
            processed = self._pulse.working.get(query.id, 0) < LOOK_SECONDS
            # Of what was there at the moment, some may have been read since.
            now_at = self._pulse.reached(query.positions or {}, query.id)
            read = query.id in self._pulse.read and moment.progress(now_at).lag == 0
            in_time = now - (query.live_since or now) <= BEHIND_SECONDS
            query.arrived = (read and processed) or not in_time
        seen = live and query.arrived and query.progress is not None
        query.look_at = now + (LIVE_LOOK_SECONDS if seen else LOOK_SECONDS)
        if arrives or query.progress is None:
            self._watch.look_soon()
        if isinstance(run, Unstarted):
            query.asleep = query.lag == 0
        query.use.saw(query.positions, query.asleep, moment.taken)

    def look_at_rest(self, query: PersistentQuery) -> None:
        """Note how far a query is behind that does not run."""
        if query.positions is not None:
            query.was_at(self._watch.moment.progress(query.positions))

    def is_to_switch(self, query: PersistentQuery, now: float) -> bool:
        """Whether a live query is to be started again: to catch up, as it is far behind, or in the
        other mode."""
        if query.activity is not Activity.LIVE or query.lag is None:
            return False
        asked_for = get_text(query.definition.properties, PROCESSING_MODE) == "realtime"
        limit = self._launcher.behind(query.definition)
        if not query.real_time:
            switch = query.switch
            return switch.fell_behind and switch.returns(query.lag, query.use.rate, now)
        if query.lag <= limit:
            query.behind_since = None
        elif query.behind_since is None:
            query.behind_since = now
        # On a cluster the lag within a batch is not known.
        if limit < sys.maxsize and not asked_for:
            if query.switch.leaves(query.lag, query.use.rate, now):
                return True
        return query.behind_since is not None and now - query.behind_since > BEHIND_SECONDS
