"""The life cycle of a query: `step` takes a state and an event to the next state and its effects.

`step` is pure: it reads no clock, calls nothing outside and waits for nothing. The manager calls it
under one lock, hands the effects to its workers, and posts their results as further events. A query
has at most one effect in progress. `TABLE` holds every transition; scripts/lifecycle_diagram.py
draws docs/design/query-lifecycle.md from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from streamsql.errors import InternalError
from streamsql.executor.queries import events
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.events import Discard, Effect, Event, Forget, Release, Start, Stop
from streamsql.executor.queries.failures import Failures
from streamsql.executor.queries.phases import (
    CatchingUp,
    Deferred,
    Failed,
    Held,
    Live,
    Paused,
    Phase,
    Ready,
    Removed,
    Removing,
    Starting,
    Stopping,
    Suspended,
)
from streamsql.executor.queries.query import Goal, Query
from streamsql.kafka.positions import distance

Change = tuple[Query, tuple[Effect, ...]]
STOP_LOOK_SECONDS = 1.0
"""How often the manager looks at a run that Spark was asked to stop and that has not ended."""
ASK_EVERY = 30
"""The number of looks between two requests to Spark, each of which may take its timeout."""
STEADY_SECONDS = 30.0
"""A live run of this length clears the failures before it."""
MANY = 10_000
"""Records: the rate of a shorter catch-up is not representative."""


def added(definition: Definition, *, restored: bool, standby: bool) -> Query:
    """A query as it is added; `restored`: see Query."""
    return _rest(Query(definition, goal=Goal(standby=standby), restored=restored))[0]


def step(query: Query, event: Event, now: float) -> Change:
    """The query after the event, and what is to be done; an event that has no row in the table, or
    is of a run that the query no longer has, changes nothing."""
    found = TABLE.get((type(query.phase), type(event)))
    if found is None or (isinstance(event, events.RunEvent) and event.run is not query.run):
        return query, ()
    act, targets = found
    after, effects = act(query, event, now)
    if type(after.phase) not in (type(query.phase), *targets):
        names = [type(each).__name__ for each in (query.phase, event, after.phase)]
        raise InternalError("a query went from {} on {} to {}".format(*names))
    return after, effects


def _wants(query: Query, **goal: Any) -> Change:
    """With another goal, on the way to it."""
    return _steer(replace(query, goal=replace(query.goal, **goal)))


def _steer(query: Query) -> Change:
    goal, phase = query.goal, query.phase
    stops = goal.to_stop or goal.suspended
    match phase:
        case Deferred() if stops or goal.drain:
            return _rest(replace(query, finished=not (goal.removed or goal.standby)))
        case CatchingUp() if stops:
            return _stop(query, phase)
        case Live() if stops or goal.drain:
            return _stop(query, phase)
    return _rest(query) if query.at_rest else (query, ())


def _stop(query: Query, was: CatchingUp | Live) -> Change:
    # On a follower no batch is finished: the new leader may be in it already.
    finishes = not (query.goal.removed or query.goal.standby)
    return replace(query, phase=Stopping(was)), (Stop(was.run, finishes=finishes),)


def _rest(query: Query) -> Change:
    """At rest: the goal and the failures decide the phase."""
    goal = query.goal
    if goal.removed:
        keeps = goal.keep_checkpoint or goal.suspended
        phase: Phase = Removed() if keeps else Removing()
        return replace(query, phase=phase), (Forget(), *(() if keeps else (Discard(),)))
    if goal.successor is not None:
        after, effects = _rest(query.succeeded())
        return after, (Forget(), *effects)
    if goal.paused:
        phase = Paused()
    elif goal.suspended:
        phase = Suspended()
    elif query.failures.held:
        phase = Held()
    else:
        phase = Ready() if query.failures.error is None else Failed()
    return replace(query, phase=phase), ()


def _recovered(query: Query) -> Query:
    return replace(query, failures=Failures())


def _resume(query: Query, event: events.ResumeRequested, _now: float) -> Change:
    accepting = query.accept(event.accepts) if event.accepts else query
    return _wants(_recovered(accepting), paused=False)


def _drain(query: Query, _event: events.DrainRequested, _now: float) -> Change:
    return (query, ()) if query.goal.paused else _wants(_recovered(query), drain=True)


def _start(query: Query, _event: events.StartDue, now: float) -> Change:
    if isinstance(query.phase, Failed) and not query.failures.due(now):
        return query, ()
    was = query.phase if isinstance(query.phase, Deferred) else None
    return replace(query, phase=Starting(was)), (Start(),)


def _started(query: Query, event: events.Started, _now: float) -> Change:
    health = query.health.begun(event.positions, event.lag)
    finished = query.finished
    query = replace(query, phase=event.phase, health=health, finished=False, restored=False)
    match event.phase:
        case Deferred():
            asleep = replace(health, asleep=True)
            query = replace(query, health=asleep, yields=None, finished=finished)
        case Live():
            mode = event.mode if event.mode is not query.definition.plan.mode.mode else None
            query = replace(query, mode=mode, mode_reason=event.reason, yields=None, rounds=0)
    return _steer(query)


def _start_failed(query: Query, event: events.StartFailed, now: float) -> Change:
    failures = query.failures.after(event.failure, query.id, now, outage=event.outage)
    return _rest(replace(query, failures=failures, finished=False))


def _observed(query: Query, event: events.Observed, now: float) -> Change:
    after = replace(query, health=event.health)
    active = query.phase
    if isinstance(active, Live) and now - active.began_at > STEADY_SECONDS:
        health = event.health
        further = health.lag == 0 or health.positions != active.began_with
        after = replace(after, failures=Failures() if further else query.failures.cleared())
    return after, ()


def _restart(query: Query, event: events.RestartDue, _now: float) -> Change:
    assert isinstance(query.phase, Live)
    return _stop(replace(query, yields=event.yields), query.phase)


def _caught_up(query: Query, event: events.CaughtUp, now: float) -> Change:
    was = query.phase
    assert isinstance(was, CatchingUp | Live)
    positions, seconds = event.positions or query.health.positions, now - was.began_at
    read = distance(was.began_with, positions or {})
    drained = isinstance(was, CatchingUp) and was.drains
    after = replace(
        _recovered(query),
        phase=Stopping(was),
        goal=replace(query.goal, drain=query.goal.drain and not drained),
        health=replace(query.health, positions=positions),
        rounds=query.rounds + 1,
        read_rate=read / seconds if read >= MANY and seconds > 0 else query.read_rate,
    )
    return after, (Release(was.run, None),)


def _run_failed(query: Query, event: events.RunFailed, now: float) -> Change:
    was = query.phase
    assert isinstance(was, CatchingUp | Live)
    failures = query.failures.after(event.failure, query.id, now, outage=event.outage)
    after = replace(query, failures=failures, phase=Stopping(was))
    return after, (Release(was.run, event.failure),)


def _jvm_died(query: Query, event: events.JvmDied, _now: float) -> Change:
    failures, phase = query.failures, query.phase
    if event.suspected:
        failures = replace(failures, crashes=failures.crashes + 1, alone=event.alone)
    if isinstance(phase, Stopping):
        phase = replace(phase, was=replace(phase.was, counted=True))
    elif isinstance(phase, CatchingUp | Live):
        phase = replace(phase, counted=True)
    return replace(query, failures=failures, phase=phase), ()


def _run_stopped(query: Query, event: events.RunStopped, _now: float) -> Change:
    assert isinstance(query.phase, Stopping)
    finished = query.phase.finished or event.finished
    return _rest(replace(query, finished=finished))


def _stop_timed_out(query: Query, event: events.StopTimedOut, now: float) -> Change:
    phase = query.phase
    assert isinstance(phase, Stopping)
    finished = phase.finished or event.finished
    look_at = now + STOP_LOOK_SECONDS
    return replace(query, phase=Stopping(phase.was, phase.attempts + 1, look_at, finished)), ()


def _look_again(query: Query, _event: events.Tick, now: float) -> Change:
    phase = query.phase
    assert isinstance(phase, Stopping)
    if now < phase.look_at:
        return query, ()
    asks = phase.attempts % ASK_EVERY == 0
    return replace(query, phase=replace(phase, look_at=math.inf)), (Stop(phase.was.run, asks),)


def _discarded(query: Query, _event: events.CheckpointDiscarded, _now: float) -> Change:
    return replace(query, phase=Removed()), ()


# -- the table ------------------------------------------------------------------------------------

Phases = tuple[type[Phase], ...]
Act = Callable[[Query, Any, float], Change]
IDLE: Phases = (Ready, Failed, Held)
AT_REST: Phases = (*IDLE, Paused, Suspended)
ON_SPARK: Phases = (CatchingUp, Live)
ACTIVE: Phases = (Deferred, *ON_SPARK)
ENDS: Phases = (Removing, Removed)
# Where a query goes at once; in a phase that is not named it stays, and keeps the request in mind.
_REQUESTS: tuple[tuple[type[Event], Act, dict[Phases, Phases]], ...] = (
    (
        events.PauseRequested,
        lambda query, _, now: _wants(query, paused=True),
        {(*IDLE, Suspended, Deferred): (Paused,), ON_SPARK: (Stopping,)},
    ),
    (events.ResumeRequested, _resume, {(Failed, Held): (Ready,), (Paused,): (Ready, Suspended)}),
    (
        events.ReplaceRequested,
        lambda query, event, now: _wants(query, successor=event.successor),
        {(Failed, Held, Deferred): (Ready,), ON_SPARK: (Stopping,)},
    ),
    (
        events.StopRequested,
        lambda query, event, now: _wants(
            query, removed=True, keep_checkpoint=event.keep_checkpoint
        ),
        {(*AT_REST, Deferred): ENDS, ON_SPARK: (Stopping,)},
    ),
    (events.DrainRequested, _drain, {(Failed, Held, Deferred): (Ready,), (Live,): (Stopping,)}),
    (events.DrainCancelled, lambda query, _, now: _wants(query, drain=False), {}),
    (
        events.LeadershipChanged,
        lambda query, event, now: _wants(_recovered(query), standby=not event.leads),
        {
            (Ready, Deferred): (Suspended,),
            (Failed, Held): (Ready, Suspended),
            (Suspended,): (Ready,),
            ON_SPARK: (Stopping,),
        },
    ),
    (
        events.EngineClosing,
        lambda query, _, now: _wants(query, closing=True),
        {(*IDLE, Deferred): (Suspended,), ON_SPARK: (Stopping,)},
    ),
)
# What happens to a query, in which phases, and where that takes it if it does not stay.
_ROWS: tuple[tuple[Phases, type[Event], Phases, Act], ...] = (
    ((Ready, Failed, Deferred), events.StartDue, (Starting,), _start),
    ((Starting,), events.Started, (*ACTIVE, Stopping, Ready, Paused, Suspended, *ENDS), _started),
    ((Starting,), events.StartFailed, (*AT_REST, *ENDS), _start_failed),
    ((*AT_REST, *ACTIVE), events.Observed, (), _observed),
    (ON_SPARK, events.CaughtUp, (Stopping,), _caught_up),
    (ON_SPARK, events.RunFailed, (Stopping,), _run_failed),
    ((Live,), events.RestartDue, (Stopping,), _restart),
    ((*ON_SPARK, Stopping), events.JvmDied, (), _jvm_died),
    ((Stopping,), events.RunStopped, (*AT_REST, *ENDS), _run_stopped),
    ((Stopping,), events.StopTimedOut, (), _stop_timed_out),
    ((Stopping,), events.Tick, (), _look_again),
    ((Removing,), events.CheckpointDiscarded, (Removed,), _discarded),
    *(
        ((phase,), event, next((to for of, to in moves.items() if phase in of), ()), act)
        for event, act, moves in _REQUESTS
        for phase in (*AT_REST, *ACTIVE, Starting, Stopping)
    ),
)
TABLE: dict[tuple[type[Phase], type[Event]], tuple[Act, Phases]] = {
    (source, event): (act, targets) for sources, event, targets, act in _ROWS for source in sources
}
