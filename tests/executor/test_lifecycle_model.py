"""The life cycle of queries under every interleaving that Hypothesis finds, and what the model says
of rules that were faulty once."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from streamsql.executor.queries import crash_isolation, events, lifecycle, workers
from streamsql.executor.queries.events import Discard, Event, Start, Stop
from streamsql.executor.queries.lifecycle import Change
from streamsql.executor.queries.phases import (
    PHASES,
    CatchingUp,
    Held,
    Live,
    Ready,
    Removing,
    Starting,
)
from streamsql.executor.queries.query import Query
from tests.executor.lifecycle_model import ACTIONS, Fleet, InvariantViolated, Rules, walk

BYTE = st.integers(0, 255)


class Lifecycle(RuleBasedStateMachine):
    """One fleet; each action checks the invariants."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()

    @rule(action=st.sampled_from(ACTIONS), a=BYTE, b=BYTE)
    def act(self, action: Callable[[Fleet, int, int], None], a: int, b: int) -> None:
        action(self.fleet, a, b)

    def teardown(self) -> None:
        self.fleet.settle()


TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


def test_a_long_walk_meets_every_phase_and_every_event() -> None:
    moves = [change for change in walk(60_000, seed=7).taken if change[0] is not change[2]]
    drawn = [(event, to) for (_, event), (_, targets) in lifecycle.TABLE.items() for to in targets]
    assert {event for _, event, _ in moves} == {event for event, _ in drawn}
    assert {target for _, _, target in moves} == set(PHASES)


# -- faulty rules ---------------------------------------------------------------------------------


def _takes_a_timeout_for_a_stop(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.StopTimedOut):
        event = events.RunStopped(event.run)
    return lifecycle.step(query, event, now)


def _takes_any_run_for_its_own(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.RunEvent) and query.run is not None:
        event = replace(event, run=query.run)
    return lifecycle.step(query, event, now)


def _replaces_at_once(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.ReplaceRequested):
        return replace(query, definition=event.successor), ()
    return lifecycle.step(query, event, now)


def _deletes_at_once(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.StopRequested) and isinstance(query.phase, CatchingUp | Live):
        removed = replace(query.goal, removed=True)
        return replace(query, phase=Removing(), goal=removed), (Discard(),)
    return lifecycle.step(query, event, now)


def _loses_requests_of_one_that_starts(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.PauseRequested) and isinstance(query.phase, Starting):
        return query, ()
    return lifecycle.step(query, event, now)


def _starts_what_is_held(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.Tick | events.StartDue) and isinstance(query.phase, Held):
        return replace(query, phase=Starting()), (Start(),)
    return lifecycle.step(query, event, now)


def _starts_again_while_it_starts(query: Query, event: Event, now: float) -> Change:
    if isinstance(event, events.ResumeRequested) and isinstance(query.phase, Starting):
        query = replace(query, phase=Ready())
        return lifecycle.step(query, events.StartDue(), now)
    return lifecycle.step(query, event, now)


def _finishes_batches_on_standby(query: Query, event: Event, now: float) -> Change:
    after, effects = lifecycle.step(query, event, now)
    found = [replace(e, finishes=True) if isinstance(e, Stop) else e for e in effects]
    return after, tuple(found)


def _replaces_no_thread(due: int, began: Collection[float], _now: float) -> bool:
    return due > sum(each == math.inf for each in began) and len(began) < workers.WORKERS


def _suspects_one(*args: Any, **how: Any) -> dict[str, events.JvmDied]:
    found = crash_isolation.crashed(*args, **how)
    suspected = [name for name, event in found.items() if event.suspected][:1]
    return {name: replace(each, suspected=name in suspected) for name, each in found.items()}


FAULTS: dict[str, tuple[Any, ...]] = {
    "a follower passes an entry that was not applied": (
        Rules(retries_entries=False),
        "a follower passes an entry once it has taken effect",
    ),
    "a stop that times out is taken for a stop": (
        Rules(step=_takes_a_timeout_for_a_stop),
        "a stop that timed out is not taken for a stop",
        "state is deleted only after the run has ended",
    ),
    "PAUSE ALL waits for one query after the other": (
        Rules(asks_all=False),
        "PAUSE ALL reaches every query",
    ),
    "a rebuild that fails keeps its lock": (
        Rules(releases=False),
        "a rebuild that has failed lets others begin",
    ),
    "four calls that hang take all workers": (
        Rules(needs_thread=_replaces_no_thread),
        "calls that hang hold up no other query",
    ),
    "batches that have shrunk stay small": (
        Rules(grown=lambda divisor, _seconds: divisor),
        "a day after a lack of memory batches have their size again",
    ),
    "an event of a former run counts": (
        Rules(step=_takes_any_run_for_its_own),
        "an event of another run changes nothing",
    ),
    "a replacement does not wait for the run": (
        Rules(step=_replaces_at_once),
        "a successor waits for the end of the run",
    ),
    "state is deleted under a run": (
        Rules(step=_deletes_at_once),
        "state is deleted only after the run has ended",
    ),
    "a request is lost while a query starts": (
        Rules(step=_loses_requests_of_one_that_starts),
        "PAUSE ALL reaches every query",
    ),
    "a crash loop continues": (
        Rules(may_start=lambda *_, **__: True, step=_starts_what_is_held),
        "a held query starts only after RESUME",
    ),
    "two starts at a time": (
        Rules(step=_starts_again_while_it_starts),
        "a query has one effect in progress",
    ),
    "a follower writes": (
        Rules(step=_finishes_batches_on_standby),
        "a follower commits no batch",
    ),
    "one query is blamed for an unknown cause": (
        Rules(crashed=_suspects_one),
        "an unknown cause of death suspects all active queries",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_model_finds_a_faulty_rule(fault: str) -> None:
    rules, *invariants = FAULTS[fault]
    with pytest.raises(InvariantViolated) as violated:
        walk(200_000, seed=3, rules=rules)
    assert str(violated.value) in invariants
