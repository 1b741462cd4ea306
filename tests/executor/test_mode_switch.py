"""When a query leaves real time because it falls behind, and when it returns."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from streamsql.catalog import Catalog
from streamsql.executor.queries import events, lifecycle, mode_switch
from streamsql.executor.queries.health import HealthCheck
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
from streamsql.executor.queries.phases import CatchingUp, Live
from streamsql.executor.queries.query import CATCHING_UP, Health, Query, Use
from streamsql.executor.queries.slot_sharing import to_move
from streamsql.parser import parse
from streamsql.planner.explain.plan import explain
from streamsql.planner.plans.query_plan import Mode
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from tests.executor.definitions import definition
from tests.executor.test_queries import ScriptedRun

RATE = 1_000.0
LARGE = int(LARGE_LAG_SECONDS * RATE)
SMALL = int(SMALL_LAG_SECONDS * RATE)
RISING = [LARGE + 100 * second for second in range(60)]


def left_at(
    switch: ModeSwitch, lags: list[int], rate: float = RATE, begin: int = 0
) -> tuple[int | None, ModeSwitch]:
    """The second at which a query with these lags leaves real time; None: never."""
    for second, lag in enumerate(lags, begin):
        switch = switch.after(lag, rate, float(second))
        if switch.fell_behind:
            return second, switch
    return None, switch


def returned_at(switch: ModeSwitch, lag: int, begin: int) -> tuple[int, ModeSwitch]:
    """The second at which a query that fell behind returns, with this lag from a second on."""
    for second in range(begin, begin + 1_000):
        switch = switch.after(lag, RATE, float(second))
        if not switch.fell_behind:
            return second, switch
    raise AssertionError("it does not return")


def test_a_query_leaves_after_half_a_minute_of_falling_behind() -> None:
    left, switch = left_at(ModeSwitch(), RISING)
    assert left == LEAVES_SECONDS + 1
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
    assert left_at(ModeSwitch(), lags)[0] is None


def test_few_records_do_not_count() -> None:
    assert left_at(ModeSwitch(), RISING, rate=LEAST_RATE / 2)[0] is None


def test_a_query_returns_after_half_a_minute_of_a_small_lag() -> None:
    switch = left_at(ModeSwitch(), RISING)[1].begun()
    for second in range(20):
        switch = switch.after(SMALL + 1, RATE, 31.0 + second)
        assert switch.fell_behind
    assert returned_at(switch, SMALL, 51)[0] == 51 + RETURNS_SECONDS


def test_a_return_that_did_not_last_makes_the_next_one_later() -> None:
    switch, now, waits = ModeSwitch(), 1_000, []
    for _ in range(6):
        left, switch = left_at(switch.begun(), RISING, begin=now)
        assert left is not None
        now, switch = returned_at(switch.begun(), 0, left)
        waits.append(now - left)
    doubled = [RETURNS_SECONDS * 2**n for n in range(6)]
    assert waits == [min(wait, MOST_RETURNS_SECONDS) for wait in doubled]
    left, switch = left_at(switch.begun(), RISING, begin=now + int(LASTED_SECONDS))
    assert left is not None
    assert returned_at(switch.begun(), 0, left)[0] - left == RETURNS_SECONDS


class Launcher:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def behind(self, _: object) -> int:
        return self.limit


def checks(limit: int = 200_000) -> HealthCheck:
    launcher: Any = Launcher(limit)
    watch: Any = None
    return HealthCheck(launcher, watch)


def query(mode: str = "auto") -> Query:
    asked = replace(definition(), properties={"processing.mode": mode})
    return Query(asked, Live(ScriptedRun(mode), 0.0, {}), health=Health(use=Use(RATE)))


def switched_at(found: HealthCheck, query: Query, lags: list[int]) -> tuple[int | None, Query]:
    for second, lag in enumerate(lags):
        health, restarts = found._mode(query, replace(query.health, lag=lag), float(second))
        query = replace(query, health=health)
        if restarts:
            return second, query
    return None, query


def test_a_query_in_micro_batches_says_why_and_keeps_its_slots_free_until_it_returns() -> None:
    left, slow = switched_at(checks(), query(), RISING)
    assert left == LEAVES_SECONDS + 1
    assert slow.not_real_time == mode_switch.REASON
    slow = replace(slow, mode=Mode.MICRO_BATCH, health=slow.health.begun({}, 0))
    assert to_move([slow], lambda _: True, 99.0) is None
    returned, slow = switched_at(checks(), slow, [0] * 60)
    assert returned == RETURNS_SECONDS
    assert slow.not_real_time is None


def test_a_query_set_to_real_time_stays_there() -> None:
    assert switched_at(checks(), query("realtime"), RISING)[0] is None
    # The lag within a batch is not known on a cluster.
    assert switched_at(checks(sys.maxsize), query(), RISING)[0] is None


def test_another_definition_begins_in_real_time() -> None:
    _, slow = switched_at(checks(), query(), RISING)
    slow, _ = lifecycle.step(slow, events.ReplaceRequested(definition()), 99.0)
    slow, _ = lifecycle.step(slow, events.RunStopped(slow.run), 99.0)
    assert slow.not_real_time is None


def test_the_mode_shown_is_the_one_in_which_a_query_runs() -> None:
    shown = query()
    assert shown.info(None).mode == "real-time"
    info = replace(shown, phase=CatchingUp(ScriptedRun("catch up"), 0.0, {})).info(None)
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
    slow = replace(query(), mode=Mode.MICRO_BATCH, mode_reason="it is slow")
    lines = explain(planned.query, running=slow.info(None)).splitlines()
    assert lines[1:3] == [
        "Mode: micro-batch, because it is slow",
        f"Planned mode: real-time, because {planned.query.mode.reason}",
    ]
    assert explain(planned.query, running=query().info(None)) == explain(planned.query)
