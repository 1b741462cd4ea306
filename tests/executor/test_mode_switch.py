"""When a query leaves real time because it falls behind, and when it returns."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from streamsql.catalog import Catalog
from streamsql.executor.queries import mode_switch
from streamsql.executor.queries.mode_switch import (
    LARGE_LAG_SECONDS,
    LASTED_SECONDS,
    LEAST_RATE,
    LEAVES_SECONDS,
    MOST_RETURNS_SECONDS,
    RETURNS_SECONDS,
    SMALL_LAG_SECONDS,
    ModeSwitch,
)
from streamsql.executor.queries.observing import Observer
from streamsql.executor.queries.persistent_query import CATCHING_UP, Activity, PersistentQuery, Use
from streamsql.executor.queries.slots import to_move
from streamsql.executor.queries.spark_run import Unstarted
from streamsql.parser import parse
from streamsql.planner.explain.plan import explain
from streamsql.planner.plans.query_plan import Mode
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from tests.executor.test_queries import definition

RATE = 1_000.0
LARGE = int(LARGE_LAG_SECONDS * RATE)
SMALL = int(SMALL_LAG_SECONDS * RATE)
RISING = [LARGE + 100 * second for second in range(60)]


def left_at(switch: ModeSwitch, lags: list[int], rate: float = RATE, begin: int = 0) -> int | None:
    """The second at which a query with these lags leaves real time; None: never."""
    for second, lag in enumerate(lags, begin):
        if switch.leaves(lag, rate, float(second)):
            return second
    return None


def returned_at(switch: ModeSwitch, lag: int, begin: int) -> int:
    """The second at which a query that fell behind returns, with this lag from a second on."""
    return next(s for s in range(begin, begin + 1_000) if switch.returns(lag, RATE, float(s)))


def test_a_query_leaves_after_half_a_minute_of_falling_behind() -> None:
    switch = ModeSwitch()
    assert left_at(switch, RISING) == LEAVES_SECONDS + 1
    assert switch.fell_behind


@pytest.mark.parametrize(
    "lags",
    [
        [LARGE - 1] * 60,
        [LARGE * 10 - 100 * second for second in range(60)],
        [LARGE if second % 29 else 0 for second in range(120)],
        [LARGE * 9] * 20 + [0] * 40,
    ],
    ids=["little", "ever less", "now and then", "a busy third of a minute"],
)
def test_a_query_that_keeps_up_stays(lags: list[int]) -> None:
    assert left_at(ModeSwitch(), lags) is None


def test_few_records_do_not_count() -> None:
    assert left_at(ModeSwitch(), RISING, rate=LEAST_RATE / 2) is None


def test_a_query_returns_after_half_a_minute_of_a_small_lag() -> None:
    switch = ModeSwitch()
    left_at(switch, RISING)
    switch.begun()
    assert not any(switch.returns(SMALL + 1, RATE, 31.0 + s) for s in range(20))
    assert returned_at(switch, SMALL, 51) == 51 + RETURNS_SECONDS
    assert not switch.fell_behind


def test_a_return_that_did_not_last_makes_the_next_one_later() -> None:
    switch, now, waits = ModeSwitch(), 1_000, []
    for _ in range(6):
        left = left_at(switch, RISING, begin=now)
        assert left is not None
        switch.begun()
        now = returned_at(switch, 0, left)
        waits.append(now - left)
        switch.begun()
    doubled = [RETURNS_SECONDS * 2**n for n in range(6)]
    assert waits == [min(wait, MOST_RETURNS_SECONDS) for wait in doubled]
    left = left_at(switch, RISING, begin=now + int(LASTED_SECONDS))
    assert left is not None
    switch.begun()
    assert returned_at(switch, 0, left) - left == RETURNS_SECONDS


class Launcher:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def behind(self, _: object) -> int:
        return self.limit


def observer(limit: int = 200_000) -> Observer:
    launcher: Any = Launcher(limit)
    watch: Any = None
    return Observer(launcher, watch)


def query(mode: str = "auto") -> PersistentQuery:
    made = PersistentQuery(replace(definition(), properties={"processing.mode": mode}))
    made.begun(Unstarted({}), Activity.LIVE)
    made.use = Use(RATE)
    return made


def switched_at(found: Observer, query: PersistentQuery, lags: list[int]) -> int | None:
    for second, lag in enumerate(lags):
        query.lag = lag
        if found.is_to_switch(query, float(second)):
            return second
    return None


def test_a_query_in_micro_batches_says_why_and_keeps_its_slots_free_until_it_returns() -> None:
    slow = query()
    assert switched_at(observer(), slow, RISING) == LEAVES_SECONDS + 1
    assert slow.not_real_time == mode_switch.REASON
    slow.mode = Mode.MICRO_BATCH
    slow.begun(Unstarted({}), Activity.LIVE)
    assert to_move([slow], lambda _: True, 99.0) is None
    assert switched_at(observer(), slow, [0] * 60) == RETURNS_SECONDS
    assert slow.not_real_time is None


def test_who_is_told_to_stay_in_real_time_stays() -> None:
    assert switched_at(observer(), query("realtime"), RISING) is None
    # The lag within a batch is not known on a cluster.
    assert switched_at(observer(sys.maxsize), query(), RISING) is None


def test_another_definition_begins_in_real_time() -> None:
    slow = query()
    switched_at(observer(), slow, RISING)
    slow.successor = slow.definition
    slow.succeeded()
    assert slow.not_real_time is None


def test_the_mode_shown_is_the_one_in_which_a_query_runs() -> None:
    shown = query()
    assert shown.info(None, 0).mode == "real-time"
    shown.begun(Unstarted({}), Activity.CATCHING_UP)
    info = shown.info(None, 0)
    assert (info.mode, info.reason) == ("micro-batch", CATCHING_UP)


def test_explain_names_the_mode_of_now_and_the_planned_one() -> None:
    catalog = Catalog()
    for statement in parse(
        "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE STREAM o AS SELECT * FROM s;"
    ):
        planned = plan(statement, catalog, {})
        apply(planned, catalog)
    assert isinstance(planned, QueryStatementPlan)
    slow = query()
    slow.mode, slow.mode_reason = Mode.MICRO_BATCH, "it is slow"
    lines = explain(planned.query, running=slow.info(None, 0)).splitlines()
    assert lines[1:3] == [
        "Mode: micro-batch, because it is slow",
        f"Planned mode: real-time, because {planned.query.mode.reason}",
    ]
    assert explain(planned.query, running=query().info(None, 0)) == explain(planned.query)
