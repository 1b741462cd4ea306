"""Who holds the task slots in real time, and who runs in Spark, where not all can."""

from __future__ import annotations

from dataclasses import replace

from streamsql.executor.queries.admission import REST_SECONDS, is_full, surplus
from streamsql.executor.queries.phases import Live
from streamsql.executor.queries.query import Health, Query, Use
from streamsql.executor.queries.slot_sharing import SLEEPS_SECONDS, to_move
from streamsql.executor.queries.start import staggered
from streamsql.executor.spark.capacity import SlotBudget
from streamsql.planner.plans.query_plan import Mode
from tests.executor.definitions import definition
from tests.executor.test_queries import ScriptedRun

NOW = 1000.0


def query(
    name: str, *, mode: Mode, rate: float = 0.0, slept: float | None = None, wanted: str = "auto"
) -> Query:
    asked = replace(definition(query_id=name), properties={"processing.mode": wanted})
    use = Use(rate, None if slept is None else NOW - slept)
    live = Live(ScriptedRun(mode.value), 0.0, {})
    return Query(asked, live, mode=mode, health=Health(use=use))


def test_nothing_moves_while_no_query_waits() -> None:
    idle = query("idle", mode=Mode.REAL_TIME, slept=10 * SLEEPS_SECONDS)
    quiet = query("quiet", mode=Mode.MICRO_BATCH, rate=0.1)
    assert to_move([idle, quiet], lambda q: True, NOW) is None


def test_the_busiest_gets_what_is_free() -> None:
    some = query("some", mode=Mode.MICRO_BATCH, rate=5)
    most = query("most", mode=Mode.MICRO_BATCH, rate=50)
    assert to_move([some, most], lambda q: True, NOW) is most


def test_who_slept_longest_gives_its_slots_away() -> None:
    busy = query("busy", mode=Mode.MICRO_BATCH, rate=50)
    awake = query("awake", mode=Mode.REAL_TIME, rate=2)
    short = query("short", mode=Mode.REAL_TIME, slept=SLEEPS_SECONDS / 2)
    long = query("long", mode=Mode.REAL_TIME, slept=2 * SLEEPS_SECONDS)
    longer = query("longer", mode=Mode.REAL_TIME, slept=3 * SLEEPS_SECONDS)
    pinned = query("pinned", mode=Mode.REAL_TIME, slept=4 * SLEEPS_SECONDS, wanted="realtime")
    assert to_move([busy, awake, short], lambda q: False, NOW) is None
    found = [busy, awake, short, long, longer, pinned]
    assert to_move(found, lambda q: False, NOW) is longer


def test_who_slept_longest_leaves_spark_if_all_of_it_is_read() -> None:
    def sleeper(name: str, slept: float, lag: int = 0) -> Query:
        found = query(name, mode=Mode.REAL_TIME, slept=slept)
        return replace(found, health=replace(found.health, lag=lag))

    short, long = sleeper("short", REST_SECONDS / 2), sleeper("long", 2 * REST_SECONDS)
    longer, behind = sleeper("longer", 3 * REST_SECONDS), sleeper("behind", 4 * REST_SECONDS, 1)
    found = [short, long, longer, behind]
    assert surplus(found, 4, NOW) == [] and is_full(found, 4) and not is_full(found, 5)
    assert surplus(found, 3, NOW) == [longer]
    assert surplus(found, 0, NOW) == [longer, long]


def test_the_rate_is_that_of_late_and_none_asleep() -> None:
    use = Use()
    for second in range(1, 60):
        use = use.saw({"in": {0: 100 * second}}, False, float(second))
    assert 90 < use.rate <= 100
    use = use.saw({"in": {0: 5900}}, True, 60.0)
    assert use.rate == 0 and use.slept(65.0) == 5
    use = use.saw({"in": {0: 5901}}, False, 70.0)
    assert use.slept(71.0) == 0


def test_room_is_for_what_was_asked_for() -> None:
    budget = SlotBudget(lambda: 8)
    assert budget.acquire("a", 4) and not budget.acquire("b", 3)
    assert not budget.has_room("b") and not budget.has_room("never asked")
    budget.release("a")
    assert budget.has_room("b")


def test_many_queries_commit_at_different_times() -> None:
    assert staggered(60_000, 0) == 60_000
    assert staggered(60_000, 1) > 59_000
    assert staggered(5_000, 99) == 5_000, "Spark allows no less"
    found = sorted(staggered(60_000, company) for company in range(50, 100))
    assert found[0] >= 30_000 and found[-1] <= 60_000
    assert max(b - a for a, b in zip(found, found[1:], strict=False)) < 2_000
