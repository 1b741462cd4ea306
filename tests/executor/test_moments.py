"""How far a query is said to be: topics' ends and its positions, both of one moment."""

from __future__ import annotations

import time
from typing import Any

from streamsql.executor.queries.observing import Observer
from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.executor.queries.pulse import Moment, Pulse
from streamsql.executor.queries.spark_run import Unstarted
from streamsql.planner.plans.query_plan import Mode
from tests.executor.test_queries import definition


def query() -> PersistentQuery:
    made = PersistentQuery(definition())
    made.begun(Unstarted({}), Activity.LIVE)
    return made


class Moments:
    """A watch over Kafka whose last look is given."""

    outage = None

    def __init__(self, ends: int, read: int, done: int = 0) -> None:
        self.moment = Moment({"in": {0: ends}}, pulse(read, done))
        self.looks_soon = 0

    def look_soon(self) -> None:
        self.looks_soon += 1


def pulse(read: int, done: int = 0, asleep: bool = False) -> Pulse:
    return Pulse(
        asleep={"Q"} if asleep else set(),
        read={"Q": {"in": {0: read}}},
        done={"Q": {"in": {0: done}}},
    )


class Launcher:
    """One whose queries have gone on since the watch looked."""

    def __init__(self, now: Pulse) -> None:
        self.now = now

    def pulse(self) -> Pulse:
        return self.now


def observed(watch: Moments, now: Pulse) -> Observer:
    launcher: Any = Launcher(now)
    given: Any = watch
    return Observer(launcher, given)


def test_lag_is_of_one_moment() -> None:
    """Neither the ends of a second ago nor those of now are compared with positions of now."""
    live = query()
    watch = Moments(ends=1_000, read=940)
    observed(watch, pulse(read=1_140)).look(live, time.monotonic())
    assert (live.positions, live.lag) == ({"in": {0: 940}}, 60)
    assert live.progress is not None and live.progress.at == watch.moment.at
    assert live.progress.lag_of("in") == 60


def test_in_micro_batches_what_is_done_counts() -> None:
    batches = query()
    batches.mode = Mode.MICRO_BATCH
    observed(Moments(ends=1_000, read=940, done=700), Pulse()).look(batches, time.monotonic())
    assert (batches.positions, batches.lag) == ({"in": {0: 700}}, 300)


def test_a_moment_before_a_run_says_nothing_of_it() -> None:
    """The positions of its previous run may be further: what was not committed is read again."""
    watch = Moments(ends=1_000, read=940)
    again = query()
    again.positions, again.lag = {"in": {0: 500}}, 500
    again.begun(Unstarted({}), Activity.LIVE)
    observed(watch, Pulse()).look(again, time.monotonic())
    assert (again.positions, again.lag, again.progress) == ({"in": {0: 500}}, 500, None)
    assert watch.looks_soon == 1


def test_the_lag_of_a_query_that_does_not_run_grows() -> None:
    paused = query()
    paused.run, paused.positions, paused.lag = None, {"in": {0: 500}}, 0
    observed(Moments(ends=900, read=0), Pulse()).look_at_rest(paused)
    assert paused.lag == 400


def test_what_was_read_just_before_sleep_is_still_seen() -> None:
    sleeper = query()
    sleeper.lag, sleeper.asleep = 3, True
    found = observed(Moments(ends=1_000, read=1_000), pulse(read=1_000, asleep=True))
    assert not found.sleeps_on(sleeper, 10.0)
    found.look(sleeper, time.monotonic())
    assert found.sleeps_on(sleeper, 11.0) and sleeper.lag == 0


def test_a_lag_is_not_known_where_an_end_is_not() -> None:
    seen = Moment({"in": {0: 7}}).progress({"in": {0: 5}, "gone": {0: 1}})
    assert (seen.lag, seen.lag_of("in"), seen.lag_of("gone")) == (None, 2, None)
