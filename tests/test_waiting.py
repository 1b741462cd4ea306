"""Waiting, on a clock that advances only during a sleep."""

from __future__ import annotations

import pytest

from streamsql import waiting
from streamsql.waiting import Backoff, await_condition, retried, steady


class Clock:
    """Replaces the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


class Passing(Exception):
    pass


class Failing:
    """Fails a number of times, then gives the number of the attempt."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.times = times
        self.error = error or Passing("for now")
        self.attempts = 0

    def __call__(self) -> int:
        self.attempts += 1
        if self.attempts <= self.times:
            raise self.error
        return self.attempts


def passes(error: Exception) -> bool:
    return isinstance(error, Passing)


def test_a_condition_that_comes_to_hold(clock: Clock) -> None:
    assert await_condition(lambda: clock.now >= 101, 5, every=0.4)
    assert clock.slept == [0.4, 0.4, 0.4]


def test_a_condition_is_looked_at_once_and_at_the_deadline(clock: Clock) -> None:
    assert await_condition(lambda: True, 0)
    assert not await_condition(lambda: False, -1)
    assert clock.slept == []
    assert await_condition(lambda: clock.now >= 101, 1, every=0.7)
    assert clock.slept == [0.7, 0.3]
    assert not await_condition(lambda: False, 1, every=0.7)


def test_what_a_condition_raises_is_passed_on(clock: Clock) -> None:
    with pytest.raises(Passing):
        await_condition(Failing(1), 5)  # type: ignore[arg-type]


def test_an_action_is_tried_again_ever_later(clock: Clock) -> None:
    assert retried(Failing(5), passes, 60, backoff=Backoff(0.1, 0.5)) == 6
    assert clock.slept == [0.1, 0.2, 0.4, 0.5, 0.5]


def test_it_is_given_up_at_the_deadline(clock: Clock) -> None:
    action = Failing(99)
    with pytest.raises(Passing):
        retried(action, passes, 1, backoff=steady(0.4))
    assert (action.attempts, clock.slept) == (4, [0.4, 0.4, 0.2])


def test_an_error_that_does_not_pass_is_raised_at_once(clock: Clock) -> None:
    with pytest.raises(ValueError, match="for good"):
        retried(Failing(1, ValueError("for good")), passes, 60, backoff=steady(1))
    assert clock.slept == []


def test_who_pauses_may_be_woken(clock: Clock) -> None:
    woken: list[float] = []
    assert not await_condition(lambda: len(woken) > 2, 0, pause=woken.append)
    assert await_condition(lambda: len(woken) > 2, 1, every=0.5, pause=woken.append)
    assert clock.slept == [] and woken == [0.5, 0.5, 0.5]
