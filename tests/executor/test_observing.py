"""When a query in real time is held to be too slow for what comes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from streamsql.executor.queries.observing import (
    FAST_AGAIN_SECONDS,
    SLOW_LAG_SECONDS,
    SLOW_RATE,
    SLOW_SECONDS,
    Observer,
)
from streamsql.executor.queries.persistent_query import Activity, PersistentQuery, Use
from streamsql.executor.queries.slots import to_move
from streamsql.executor.queries.spark_run import Unstarted
from streamsql.planner.plans.logical import Mode
from tests.executor.test_queries import definition

RATE = 1_000.0
LATE = int(SLOW_LAG_SECONDS * RATE)
"""Records that are the work of too long."""


class Launcher:
    def __init__(self, limit: int = 200_000) -> None:
        self.limit = limit

    def behind(self, _: object) -> int:
        return self.limit


def observer(limit: int = 200_000) -> Observer:
    launcher: Any = Launcher(limit)
    watch: Any = None
    return Observer(launcher, watch)


def query(mode: str = "auto", rate: float = RATE) -> PersistentQuery:
    made = PersistentQuery(replace(definition(), properties={"processing.mode": mode}))
    made.begun(Unstarted({}), Activity.LIVE)
    made.use = Use(rate)
    return made


def left_at(found: Observer, query: PersistentQuery, lags: list[int]) -> int | None:
    """After how many seconds it is to leave real time, of which these are the lags; None: never."""
    for second, lag in enumerate(lags):
        query.lag = lag
        if found.is_left_behind(query, float(second)):
            return second
    return None


def test_what_falls_behind_goes_on_in_micro_batches() -> None:
    slow = query()
    lags = [LATE + 100 * second for second in range(60)]
    assert left_at(observer(), slow, lags) == SLOW_SECONDS + 1
    assert slow.slow_until == SLOW_SECONDS + 1 + FAST_AGAIN_SECONDS


def test_it_is_tried_again_ever_later() -> None:
    slow = query()
    lags = [LATE + 100 * second for second in range(60)]
    waits = []
    for _ in range(6):
        slow.slow_since = None
        left = left_at(observer(), slow, lags)
        assert left is not None
        waits.append((slow.slow_until - left) / FAST_AGAIN_SECONDS)
    assert waits == [1, 2, 4, 8, 8, 8]
    slow.successor = slow.definition
    slow.succeeded()
    assert (slow.slow_until, slow.slow_times) == (0.0, 1)


@pytest.mark.parametrize(
    "lags",
    [
        [LATE - 1] * 60,
        [LATE * 10 - 100 * second for second in range(60)],
        [LATE if second % 9 else 0 for second in range(60)],
    ],
    ids=["little", "ever less", "now and then"],
)
def test_what_keeps_up_stays(lags: list[int]) -> None:
    assert left_at(observer(), query(), lags) is None


def test_who_waits_for_something_or_is_told_to_stays() -> None:
    lags = [LATE + 100 * second for second in range(60)]
    assert left_at(observer(), query(rate=SLOW_RATE / 2), lags) is None
    assert left_at(observer(), query("realtime"), lags) is None
    # How far it is within a batch is not known there.
    assert left_at(observer(sys.maxsize), query(), lags) is None


def test_it_is_tried_again_later() -> None:
    slow = query()
    slow.mode, slow.slow_until = Mode.MICRO_BATCH, 100.0
    assert to_move([slow], lambda _: True, 99.0) is None
    assert to_move([slow], lambda _: True, 100.0) is slow
