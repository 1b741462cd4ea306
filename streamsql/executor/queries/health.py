"""Health and lag of the queries: their positions, whether they sleep, whether their mode fits.

Each check costs Spark's JVM a little of what live queries need; checks of sleeping queries cost
nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from streamsql.executor.queries.events import CaughtUp, Observed, RestartDue, RunEvent, RunFailed
from streamsql.executor.queries.interfaces import Launcher, Watch
from streamsql.executor.queries.phases import Deferred, Live
from streamsql.executor.queries.query import Health, Query
from streamsql.executor.queries.status_poll import Moment
from streamsql.executor.spark.messages import Status
from streamsql.properties import PROCESSING_MODE, get_text

LOOK_SECONDS = 0.1
LIVE_LOOK_SECONDS = 1.0
BEHIND_SECONDS = 5.0
"""How long a live query must have a large lag before it catches up again."""
HELD_SECONDS = 2.0
"""How long a view waits for another one before that is shown."""


class HealthCheck:
    """Checks one query after the other. Every check may wait for the JVM."""

    def __init__(self, launcher: Launcher, watch: Watch) -> None:
        self._launcher = launcher
        self._watch = watch
        self._status = Status()
        self._asked_at = float("-inf")

    def events(self, query: Query, now: float) -> Iterable[RunEvent]:
        """The events that a check of the query finds."""
        health, active = query.health, query.active
        if query.busy or now < health.look_at:
            return
        if active is None:
            if health.positions is not None:
                progress = self._watch.moment.progress(health.positions)
                look_at = now + LOOK_SECONDS
                yield Observed(None, replace(health.at(progress), look_at=look_at))
            return
        moment = self._watch.moment
        if isinstance(active, Deferred) and health.progress and health.progress.at == moment.at:
            return  # Only records change it.
        was, health = health, self._slept(query, now)
        if was.asleep and health.asleep and health.lag == 0:
            yield Observed(query.run, replace(health, look_at=now + LIVE_LOOK_SECONDS))
            return
        if (ended := self._ended(query)) is not None:
            yield ended
            return
        health, changes = self._mode(query, self._look(query, health, now), now)
        yield Observed(query.run, health)
        if changes:
            yield RestartDue(query.run)

    def _slept(self, query: Query, now: float) -> Health:
        """Whether it sleeps now. What it read before that may not have been reported yet."""
        health = query.health
        if now - self._asked_at >= (LIVE_LOOK_SECONDS if health.arrived else LOOK_SECONDS):
            self._status, self._asked_at = self._launcher.status(), now
        if not self._status.answers:
            return health  # Kept after a JVM crash.
        held = _held(self._status.held.get(query.id))
        return replace(health, asleep=held is None and query.id in self._status.asleep, held=held)

    def _ended(self, query: Query) -> CaughtUp | RunFailed | None:
        run = query.run
        live = isinstance(query.phase, Live) and query.id in self._status.running
        if run is None or live or run.active():
            return None
        if (failure := run.failure()) is None:
            return CaughtUp(run, run.positions())
        return RunFailed(run, failure, outage=self._watch.outage is not None)

    def _look(self, query: Query, health: Health, now: float) -> Health:
        active, moment = query.active, self._watch.moment
        assert active is not None
        live = isinstance(active, Live | Deferred)
        if moment.taken > active.began_at:  # An earlier one may be of the previous run.
            known, real_time = health.positions or {}, live and query.real_time
            health = health.at(
                moment.progress(moment.status.reached(known, query.id, real_time=real_time))
            )
        arrives = live and query.real_time and not health.arrived
        if arrives:
            late = now - active.began_at > BEHIND_SECONDS
            health = replace(health, arrived=late or self._has_arrived(query.id, health, moment))
        seen = live and health.arrived and health.progress is not None
        if arrives or health.progress is None:
            self._watch.look_soon()
        asleep = health.lag == 0 if isinstance(active, Deferred) else health.asleep
        return replace(
            health,
            asleep=asleep,
            use=health.use.saw(health.positions, asleep, moment.taken),
            look_at=now + (LIVE_LOOK_SECONDS if seen and query.run else LOOK_SECONDS),
        )

    def _has_arrived(self, query_id: str, health: Health, moment: Moment) -> bool:
        """Whether it has processed all records that existed, some of them since the moment."""
        processed = self._status.working.get(query_id, 0) < LOOK_SECONDS
        reached = self._status.reached(health.positions or {}, query_id)
        return processed and query_id in self._status.read and moment.progress(reached).lag == 0

    def _mode(self, query: Query, health: Health, now: float) -> tuple[Health, bool]:
        """Whether a live query has to restart: to catch up, or in its other mode."""
        lag, switch = health.lag, health.switch
        if not isinstance(query.phase, Live) or lag is None:
            return health, False
        if not query.real_time:
            if not switch.fell_behind:
                return health, False
            after = switch.after(lag, health.use.rate, now)
            return replace(health, switch=after), not after.fell_behind
        limit = self._launcher.behind(query.definition)
        since = (health.behind_since or now) if lag > limit else None
        # On a cluster the lag within a batch is not known.
        if (
            limit < sys.maxsize
            and get_text(query.definition.properties, PROCESSING_MODE) != "realtime"
        ):
            switch = switch.after(lag, health.use.rate, now)
        far = since is not None and now - since > BEHIND_SECONDS
        return replace(health, behind_since=since, switch=switch), far or switch.fell_behind


def _held(by: tuple[str, float] | None) -> str | None:
    """What holds a view back; None: nothing does, or not for long."""
    if by is None or time.time() - by[1] < HELD_SECONDS:
        return None
    topic, since = by
    return f"waits for {topic} since {datetime.fromtimestamp(since, UTC):%H:%M:%S} UTC"
