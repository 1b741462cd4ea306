"""How far a query is said to be: topics' ends and its positions, both of one moment."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from streamsql.executor.queries.events import Observed
from streamsql.executor.queries.health import HealthCheck
from streamsql.executor.queries.phases import Live, Paused
from streamsql.executor.queries.query import Health, Query
from streamsql.executor.queries.status_poll import Moment
from streamsql.executor.spark.messages import Status
from streamsql.planner.plans.query_plan import Mode
from tests.executor.definitions import definition
from tests.executor.test_queries import ScriptedRun


def query(**health: Any) -> Query:
    return Query(definition(), Live(ScriptedRun("live"), 0.0, {}), health=Health(**health))


class Moments:
    """A watch over Kafka whose last look is given."""

    outage = None

    def __init__(self, ends: int, read: int, done: int = 0) -> None:
        self.moment = Moment({"in": {0: ends}}, status(read, done))
        self.looks_soon = 0

    def look_soon(self) -> None:
        self.looks_soon += 1


def status(read: int, done: int = 0, asleep: bool = False) -> Status:
    return Status(
        asleep={"Q"} if asleep else set(),
        read={"Q": {"in": {0: read}}},
        done={"Q": {"in": {0: done}}},
    )


class Launcher:
    """One whose queries have advanced since the last reading."""

    def __init__(self, now: Status) -> None:
        self.now = now

    def status(self) -> Status:
        return self.now

    def behind(self, _: object) -> int:
        return 1_000_000


def looked(query: Query, watch: Moments, now: Status) -> Health:
    """The health of a query after a look."""
    return _checks(watch, now)._look(query, query.health, time.monotonic())


def _checks(watch: Moments, now: Status) -> HealthCheck:
    launcher: Any = Launcher(now)
    given: Any = watch
    return HealthCheck(launcher, given)


def test_lag_is_of_one_moment() -> None:
    """Neither the ends of a second ago nor those of now are compared with positions of now."""
    watch = Moments(ends=1_000, read=940)
    seen = looked(query(), watch, status(read=1_140))
    assert (seen.positions, seen.lag) == ({"in": {0: 940}}, 60)
    assert seen.progress is not None and seen.progress.at == watch.moment.at
    assert seen.progress.lag_of("in") == 60


def test_in_micro_batches_what_is_done_counts() -> None:
    batches = replace(query(), mode=Mode.MICRO_BATCH)
    seen = looked(batches, Moments(ends=1_000, read=940, done=700), Status())
    assert (seen.positions, seen.lag) == ({"in": {0: 700}}, 300)


def test_a_moment_before_a_run_says_nothing_of_it() -> None:
    """The positions of its previous run may be further: what was not committed is read again."""
    watch = Moments(ends=1_000, read=940)
    again = replace(query(), phase=Live(ScriptedRun("live"), time.monotonic(), {}))
    again = replace(again, health=again.health.begun({"in": {0: 500}}, 500))
    seen = looked(again, watch, Status())
    assert (seen.positions, seen.lag, seen.progress) == ({"in": {0: 500}}, 500, None)
    assert watch.looks_soon == 1


def test_the_lag_of_a_query_that_does_not_run_grows() -> None:
    paused = replace(query(positions={"in": {0: 500}}, lag=0), phase=Paused())
    (event,) = _checks(Moments(ends=900, read=0), Status()).events(paused, time.monotonic())
    assert isinstance(event, Observed) and event.health.lag == 400


def test_what_was_read_just_before_sleep_is_still_seen() -> None:
    sleeper = query(lag=3, asleep=True)
    checks = _checks(Moments(ends=1_000, read=1_000), status(read=1_000, asleep=True))
    (first,) = checks.events(sleeper, time.monotonic())
    assert isinstance(first, Observed) and (first.health.asleep, first.health.lag) == (True, 0)
    later = replace(sleeper, health=first.health)
    (second,) = checks.events(later, time.monotonic() + 10.0)
    assert isinstance(second, Observed) and second.health.progress is first.health.progress


def test_a_lag_is_not_known_where_an_end_is_not() -> None:
    seen = Moment({"in": {0: 7}}).progress({"in": {0: 5}, "gone": {0: 1}})
    assert (seen.lag, seen.lag_of("in"), seen.lag_of("gone")) == (None, 2, None)
