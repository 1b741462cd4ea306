"""How the query manager moves queries between catching up and live, and over failures.

The runs here are scripted, so that they fail, lag and end on demand; tests/engine does the same
with real ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until

from streamsql.errors import BindError, ExternalError
from streamsql.executor.queries import (
    admission,
    events,
    failures,
    health,
    lifecycle,
    query,
    slot_sharing,
    workers,
)
from streamsql.executor.queries import manager as queries
from streamsql.executor.queries.checkpoint import discarded
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.queries.phases import Deferred, Live
from streamsql.executor.queries.query import MAX_ROUNDS, NEAR, Query
from streamsql.executor.queries.spark_run import Failure
from streamsql.executor.queries.status_poll import Moment, Progress
from streamsql.executor.queries.workers import WORKERS
from streamsql.executor.spark.messages import Status
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode
from streamsql.status import QueryInfo, QueryState
from streamsql.waiting import Backoff
from tests.executor.definitions import definition


class ScriptedRun:
    """A run that lasts until the test ends it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.running = True
        self.finished = False
        self.in_order = True
        self.asked = 0
        self.at: Positions | None = None
        self.error: Failure | None = None

    def active(self) -> bool:
        return self.running

    def failure(self) -> Failure | None:
        return self.error

    def positions(self) -> Positions | None:
        return self.at

    def finish(self) -> bool:
        self.finished = True
        return self.in_order

    def stop(self) -> bool:
        self.running = False
        return True

    def end(self, error: Failure | None = None) -> None:
        self.error, self.running = error, False


@dataclass(frozen=True)
class ScriptedMoment(Moment):
    """One at which queries lag by a number of records, whatever their positions."""

    backlog: int = 0

    def progress(self, positions: Positions) -> Progress:
        ends = {
            topic: {p: offset + self.backlog for p, offset in partitions.items()}
            for topic, partitions in positions.items()
        }
        return Progress(self.at, positions, ends)


class Script:
    """The launcher and the watch in one: Kafka and Spark as the test wants them to be."""

    def __init__(self) -> None:
        self.runs: list[ScriptedRun] = []
        self.backlog = 0
        self.more: dict[str, int] = {}
        self.outage: str | None = None
        self.full = False
        self.sleepers: set[str] = set()
        self.broken: Exception | None = None
        self.stops: list[str] = []
        self.read: Positions = {}
        self.interrupted = False
        self.swept = 0
        self.looks_soon = 0
        self.working = 0.0
        self.shrunk = 0
        self.forgotten: list[str] = []

    def was_killed(self) -> bool:
        return False

    def failed(self, query: Definition, *, exhausted: bool) -> None:
        self.shrunk += exhausted

    def forget(self, query_id: str) -> None:
        self.forgotten.append(query_id)

    def sweep(self) -> None:
        self.swept += 1

    def look_soon(self) -> None:
        self.looks_soon += 1

    def prepare(self, query: Definition) -> Positions:
        if self.broken:
            raise self.broken
        return {"in": {0: 0}}

    def lag(self, *_: object) -> int:
        return self.backlog

    def lags(self, query: Definition, positions: Positions) -> dict[str, int]:
        return {query.topics[0]: self.backlog, **self.more}

    def replays(self, query: Definition) -> bool:
        return self.interrupted

    def behind(self, query: Definition) -> int:
        return 10 * NEAR

    def status(self) -> Status:
        read = {"Q": self.read} if self.read else {}
        done = {"Q": at} if self.runs and (at := self.runs[-1].at) else {}
        return Status(asleep=self.sleepers, working={"Q": self.working}, read=read, done=done)

    @property
    def moment(self) -> Moment:
        return ScriptedMoment(status=self.status(), backlog=self.backlog)

    def has_room(self, query: Definition) -> bool:
        return not self.full

    def stopped(self, query_id: str) -> None:
        self.stops.append(query_id)

    def catch_up(self, query: Definition, lag: int) -> ScriptedRun:
        return self._add("catch up")

    def live(self, query: Definition, mode: Mode) -> tuple[ScriptedRun, Mode, str | None]:
        if self.full:
            return self._add("micro-batch"), Mode.MICRO_BATCH, "no slots"
        return self._add(mode.value), mode, None

    def _add(self, kind: str) -> ScriptedRun:
        self.runs.append(ScriptedRun(kind))
        return self.runs[-1]

    @property
    def kinds(self) -> list[str]:
        return [run.kind for run in self.runs]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def manager(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[QueryManager]:
    for name, seconds in (
        ("LOOK_SECONDS", 0.01),
        ("LIVE_LOOK_SECONDS", 0.01),
        ("BEHIND_SECONDS", 0.05),
    ):
        monkeypatch.setattr(health, name, seconds)
    monkeypatch.setattr(queries, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(failures, "RETRY", Backoff(0.02, 60.0))
    manager = QueryManager(script, script, tmp_path)
    manager.start()
    yield manager
    manager.close()
    # Of queries that were terminated and hung, runs end on their own.
    await_until(lambda: not any(run.running for run in script.runs), "all runs have ended")


def info(manager: QueryManager) -> QueryInfo:
    return manager.infos()[0]


def await_state(manager: QueryManager, state: QueryState) -> None:
    await_until(lambda: info(manager).state is state, state.value)


def await_runs(script: Script, *kinds: str) -> ScriptedRun:
    await_until(lambda: script.kinds == list(kinds), f"{kinds}, but there was {script.kinds}")
    return script.runs[-1]


def test_a_query_near_the_end_goes_live_at_once(manager: QueryManager, script: Script) -> None:
    script.backlog = NEAR
    manager.add(definition())
    await_runs(script, "real-time")
    await_state(manager, QueryState.RUNNING)


def test_a_live_query_is_running_once_it_has_processed_what_there_was(
    manager: QueryManager, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "BEHIND_SECONDS", 60.0)
    script.backlog = 2
    manager.add(definition())
    await_runs(script, "real-time")
    await_state(manager, QueryState.CATCHING_UP)
    for backlog, working in (1, 0.0), (0, 0.5):
        script.backlog, script.working, script.read = backlog, working, {"in": {0: 2 - backlog}}
        script.looks_soon = 0
        await_until(lambda: script.looks_soon > 2, "two more looks")
        await_state(manager, QueryState.CATCHING_UP)
    script.working = 0.0
    await_state(manager, QueryState.RUNNING)


def test_a_query_far_behind_catches_up_first(manager: QueryManager, script: Script) -> None:
    script.backlog = NEAR + 1
    manager.add(definition())
    run = await_runs(script, "catch up")
    await_state(manager, QueryState.CATCHING_UP)
    script.backlog = 0
    run.end()
    await_runs(script, "catch up", "real-time")
    await_state(manager, QueryState.RUNNING)


def test_how_fast_it_has_caught_up_is_known_where_there_was_much(
    manager: QueryManager, script: Script
) -> None:
    script.backlog = NEAR + 1
    manager.add(definition())
    run = await_runs(script, "catch up")
    run.at = {"in": {0: lifecycle.MANY}}
    assert manager.known()["Q"].read_rate is None
    script.backlog = 0
    run.end()
    await_runs(script, "catch up", "real-time")
    rate = manager.known()["Q"].read_rate
    assert rate is not None and rate > 0


def test_a_query_that_may_have_been_interrupted_catches_up_first(
    manager: QueryManager, script: Script
) -> None:
    script.interrupted = True
    manager.add(definition())
    await_runs(script, "catch up").end()
    await_runs(script, "catch up", "real-time")


def test_a_query_that_never_gets_near_goes_live_all_the_same(
    manager: QueryManager, script: Script
) -> None:
    script.backlog = NEAR + 1
    manager.add(definition())
    for rounds in range(1, MAX_ROUNDS + 1):
        await_runs(script, *["catch up"] * rounds).end()
    await_runs(script, *["catch up"] * MAX_ROUNDS, "real-time")


def test_a_micro_batch_query_needs_no_catching_up(manager: QueryManager, script: Script) -> None:
    script.backlog = 50 * NEAR
    manager.add(definition(Mode.MICRO_BATCH))
    await_runs(script, "micro-batch")
    await_state(manager, QueryState.CATCHING_UP)
    script.backlog = 0
    await_state(manager, QueryState.RUNNING)


def test_a_query_that_merges_topics_begins_with_a_catch_up(
    manager: QueryManager, script: Script
) -> None:
    script.backlog = 1
    manager.add(definition(reads=("in", "other")))
    await_runs(script, "catch up").end()
    await_runs(script, "catch up", "real-time")
    await_state(manager, QueryState.RUNNING)


def test_a_query_that_merges_topics_waits_for_those_that_fill_them(
    manager: QueryManager, script: Script
) -> None:
    script.backlog = NEAR + 1
    manager.add(definition(query_id="FEEDER", writes="middle"))
    feeder = await_runs(script, "catch up")
    manager.add(definition(query_id="Q", reads=("middle", "other")))
    manager.add(definition(query_id="R", reads=("middle",)))
    reader = await_runs(script, "catch up", "catch up")
    script.backlog = 0
    reader.end()
    await_runs(script, "catch up", "catch up", "real-time")
    assert manager.infos()[1].state is QueryState.STARTING
    feeder.end()
    await_until(lambda: script.kinds[3:] == ["real-time"] * 2, "the feeder and Q to go live")


def test_a_live_query_that_falls_behind_catches_up(manager: QueryManager, script: Script) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    script.backlog = 11 * NEAR
    run = await_runs(script, "real-time", "catch up")
    assert not script.runs[0].running
    script.backlog = 0
    run.end()
    await_runs(script, "real-time", "catch up", "real-time")


def test_without_slots_it_runs_in_micro_batches(manager: QueryManager, script: Script) -> None:
    script.full = True
    manager.add(definition())
    await_state(manager, QueryState.RUNNING)
    assert (info(manager).mode, info(manager).reason) == ("micro-batch", "no slots")


def test_failures_are_retried_and_reported(manager: QueryManager, script: Script) -> None:
    manager.add(definition())
    await_runs(script, "real-time").end(Failure("division of sheep", False))
    await_runs(script, "real-time", "real-time")
    assert info(manager).error == "division of sheep"
    script.broken = ExternalError("Spark is gone", retryable=True)
    script.runs[-1].end(Failure("Spark is gone", True))
    await_state(manager, QueryState.WAITING)
    assert info(manager).reason == "Spark is gone"
    script.broken = ValueError("odd")
    await_state(manager, QueryState.ERROR)
    script.broken = None
    await_state(manager, QueryState.RUNNING)


def test_nothing_is_started_while_kafka_is_lost(manager: QueryManager, script: Script) -> None:
    manager.add(definition())
    run = await_runs(script, "real-time")
    script.outage = "no answer"
    await_state(manager, QueryState.WAITING)
    assert info(manager).reason == "no answer" and run.running
    run.end(Failure("timeout", False))
    await_until(lambda: info(manager).error == "timeout", "the failure to be noticed")
    assert len(script.runs) == 1
    script.outage = None
    await_runs(script, "real-time", "real-time")
    await_state(manager, QueryState.RUNNING)


def test_pause_and_resume(manager: QueryManager, script: Script, tmp_path: Path) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    (tmp_path / "Q").mkdir()
    manager.pause("Q")
    assert not script.runs[0].running and script.runs[0].finished and script.stops == ["Q"]
    assert info(manager).state is QueryState.PAUSED
    manager.resume("Q")
    await_runs(script, "real-time", "real-time")
    assert (tmp_path / "Q").exists()


def test_terminate_removes_the_checkpoint(
    manager: QueryManager, script: Script, tmp_path: Path
) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    (tmp_path / "Q").mkdir()
    manager.terminate("Q")
    assert not script.runs[0].running and not (tmp_path / "Q").exists()
    assert not script.runs[0].finished, "what it would commit is deleted"
    assert manager.infos() == []
    with pytest.raises(BindError, match="Unknown queryId: Q"):
        manager.pause("Q")


def test_a_query_paused_before_the_start_is_not_started(script: Script, tmp_path: Path) -> None:
    manager = QueryManager(script, script, tmp_path)
    manager.add(definition())
    manager.pause("Q")
    manager.add(definition(query_id="R"))
    manager.start()
    try:
        await_runs(script, "real-time")
        assert info(manager).state is QueryState.PAUSED
    finally:
        manager.close()


def test_after_a_restart_a_query_without_records_runs_unstarted(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def may_start(query: Query, *others: Any, **how: Any) -> bool:
        return not isinstance(query.phase, Deferred) and admission.may_start(query, *others, **how)

    monkeypatch.setattr(queries, "may_start", may_start)
    manager = QueryManager(script, script, tmp_path)
    manager.add(definition())
    script.sleepers.add("Q")
    manager.start()
    try:
        await_state(manager, QueryState.RUNNING)
        assert info(manager).asleep and script.runs == []
        manager.pause("Q")
        assert info(manager).state is QueryState.PAUSED and not info(manager).asleep
    finally:
        manager.close()


def test_an_unstarted_query_is_started_when_there_is_time(script: Script, tmp_path: Path) -> None:
    manager = QueryManager(script, script, tmp_path)
    for name in ("Q", "R"):
        manager.add(definition(query_id=name))
    manager.start()
    try:
        await_runs(script, "real-time", "real-time")
        await_state(manager, QueryState.RUNNING)
    finally:
        manager.close()


def test_without_room_in_spark_a_new_query_runs_unstarted_until_it_gets_a_record(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_sharing, "SHARE_SECONDS", 0.01)
    manager = QueryManager(script, script, tmp_path, room=1)
    manager.start()
    try:
        manager.add(definition())
        await_runs(script, "real-time")
        manager.add(definition(query_id="R"))
        unstarted = lambda: manager.infos()[1].asleep  # noqa: E731
        await_until(unstarted, "the second one runs")
        assert manager.infos()[1].state is QueryState.RUNNING and len(script.runs) == 1
        script.backlog = 1
        await_runs(script, "real-time", "real-time")
        assert script.runs[0].running, "it has not been without records for a minute"
        # Without records the one that has slept the longest leaves Spark.
        monkeypatch.setattr(admission, "REST_SECONDS", 0.0)
        script.backlog = 0
        script.sleepers |= {"Q", "R"}
        await_until(lambda: sum(run.running for run in script.runs) == 1, "one leaves Spark")
        await_until(lambda: all(info.asleep for info in manager.infos()), "both run")
        assert len(script.runs) == 2 and all(
            info.state is QueryState.RUNNING for info in manager.infos()
        )
    finally:
        manager.close()


def test_what_failed_to_start_is_tried_again_later(script: Script, tmp_path: Path) -> None:
    manager = QueryManager(script, script, tmp_path)
    manager.add(definition())
    script.broken = ValueError("odd")
    manager.start()
    try:
        await_state(manager, QueryState.ERROR)
    finally:
        manager.close()


def test_a_busy_query_takes_the_slots_of_one_that_sleeps(
    manager: QueryManager, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_sharing, "SHARE_SECONDS", 0.01)
    monkeypatch.setattr(slot_sharing, "SLEEPS_SECONDS", 0.05)
    monkeypatch.setattr(slot_sharing, "LEAST_RATE", 0.0)
    script.sleepers.add("Q")
    manager.add(definition())
    await_runs(script, "real-time")
    script.full = True
    manager.add(definition(query_id="R"))
    await_runs(script, "real-time", "micro-batch", "micro-batch")
    await_until(lambda: info(manager).reason == slot_sharing.YIELDED, "Q to give its slots away")
    assert not script.runs[0].running
    script.full = False
    await_until(lambda: manager.infos()[1].mode == "real-time", "R to get them")


def test_on_standby_queries_are_known_but_not_run(
    manager: QueryManager, script: Script, tmp_path: Path
) -> None:
    manager.lead(False)
    manager.add(definition())
    manager.add(definition(query_id="R"))
    (tmp_path / "R").mkdir()
    manager.terminate("R")
    assert info(manager).state is QueryState.STANDBY and script.runs == []
    assert (tmp_path / "R").exists(), "the checkpoint is the leader's"
    manager.lead(True)
    await_runs(script, "real-time")
    await_state(manager, QueryState.RUNNING)
    manager.lead(False)
    await_until(lambda: not script.runs[0].running, "the run to be stopped")
    assert not script.runs[0].finished, "the batch is the new leader's"
    assert info(manager).state is QueryState.STANDBY
    manager.remove_leftovers()
    assert not (tmp_path / "R").exists()


def test_replace_starts_the_new_plan(manager: QueryManager, script: Script) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    manager.replace(definition(Mode.MICRO_BATCH))
    await_runs(script, "real-time", "micro-batch")
    assert not script.runs[0].running


def test_what_memory_was_too_little_for_is_forgotten_with_its_query(
    manager: QueryManager, script: Script
) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    manager.pause("Q")
    manager.resume("Q")
    await_runs(script, "real-time", "real-time")
    assert not script.forgotten
    manager.replace(definition())
    await_runs(script, "real-time", "real-time", "real-time")
    assert script.forgotten == ["Q"]
    manager.terminate("Q")
    assert script.forgotten == ["Q", "Q"]


@pytest.mark.parametrize(
    ("in_order", "backlog", "more", "begins_with"),
    [
        (True, 5, {}, ["real-time"]),
        (False, 5, {}, ["catch up"]),
        (True, 5, {"other": 1}, ["catch up"]),
        (True, NEAR + 1, {}, ["catch up"]),
    ],
)
def test_what_was_stopped_in_order_continues_in_real_time(
    manager: QueryManager,
    script: Script,
    in_order: bool,
    backlog: int,
    more: dict[str, int],
    begins_with: list[str],
) -> None:
    """Unless records wait in more than one topic, or many do."""
    manager.add(definition(reads=("in", "other")))
    await_runs(script, "real-time").in_order = in_order
    script.interrupted, script.backlog, script.more = True, backlog, more
    manager.replace(definition(reads=("in", "other")))
    await_runs(script, "real-time", *begins_with)


def test_what_fails_after_that_may_have_been_interrupted(
    manager: QueryManager, script: Script
) -> None:
    script.interrupted = True
    manager.add(definition())
    await_runs(script, "catch up").end()
    await_runs(script, "catch up", "real-time")
    manager.replace(definition())
    await_runs(script, "catch up", "real-time", "real-time").end(Failure("broken", True))
    await_runs(script, "catch up", "real-time", "real-time", "catch up")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Runs do not stop before it is set, and no caller waits long for them."""
    let_go = threading.Event()
    stop = ScriptedRun.stop

    def stopped(run: ScriptedRun) -> bool:
        let_go.wait(30)
        return stop(run)

    monkeypatch.setattr(ScriptedRun, "stop", stopped)
    monkeypatch.setattr(queries, "STOP_SECONDS", 0.2)
    yield let_go
    let_go.set()


def test_queries_that_do_not_stop_end_when_they_do(
    manager: QueryManager, script: Script, held: threading.Event, tmp_path: Path
) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    script.broken = ExternalError("no Kafka")
    manager.add(definition(query_id="R"))
    await_until(lambda: manager.infos()[1].error is not None, "R to fail")
    (tmp_path / "R").mkdir()
    assert manager.terminate("Q", "R") == ["Q"], "one that hangs holds up no other"
    assert not (tmp_path / "R").exists()
    held.set()
    await_until(lambda: not manager.infos(), "Q to end")


def test_a_query_that_does_not_stop_is_replaced_when_it_does(
    manager: QueryManager, script: Script, held: threading.Event
) -> None:
    manager.add(definition())
    await_runs(script, "real-time")
    successor = definition(Mode.MICRO_BATCH)
    assert not manager.replace(successor)
    assert manager.definition("Q") is successor, "the statement has taken effect"
    held.set()
    await_runs(script, "real-time", "micro-batch")
    assert info(manager).state is not QueryState.PAUSED


def test_what_an_exactly_once_query_leaves_is_swept(
    manager: QueryManager, script: Script, tmp_path: Path
) -> None:
    once = definition()
    plan = replace(once.plan, guarantee=Guarantee.EXACTLY_ONCE)
    manager.add(replace(once, plan=plan))
    await_runs(script, "real-time")
    (tmp_path / "Q").mkdir()
    manager.terminate("Q")
    assert not (tmp_path / "Q").exists() and len(discarded(tmp_path)) == 1
    await_until(lambda: script.swept == 1, "its tokens to be taken out")


def test_drain_runs_to_the_end_once(script: Script, tmp_path: Path) -> None:
    manager = QueryManager(script, script, tmp_path, by_itself=False)
    manager.add(definition())
    manager.start()
    try:
        ticks: list[int] = []

        def tick() -> None:
            ticks.append(len(script.runs))
            if script.runs:
                script.runs[-1].end()

        manager.drain(["Q"], tick)
        assert script.kinds == ["catch up"] and ticks
        assert info(manager).state is QueryState.STARTING
    finally:
        manager.close()


def test_drain_of_a_live_query_comes_back_to_life(manager: QueryManager, script: Script) -> None:
    manager.add(definition())
    await_runs(script, "real-time")

    def tick() -> None:
        if script.kinds[-1] == "catch up":
            script.runs[-1].end()

    manager.drain(["Q"], tick)
    await_runs(script, "real-time", "catch up", "real-time")


def test_drain_gives_up_on_a_query_that_fails_for_good(
    manager: QueryManager, script: Script
) -> None:
    script.broken = ValueError("odd")
    manager.add(definition())
    with pytest.raises(ExternalError, match="query Q failed: odd"):
        manager.drain(["Q"])


def test_a_record_counts_when_it_is_read_or_in_micro_batches_when_its_batch_is_done() -> None:
    status = Status(read={"Q": {"in": {0: 9}}}, done={"Q": {"in": {0: 5, 1: 3}}})
    assert status.reached({"in": {0: 4}}, "Q") == {"in": {0: 9, 1: 3}}
    assert status.reached({"in": {0: 4}}, "Q", real_time=False) == {"in": {0: 5, 1: 3}}
    assert status.reached({"in": {0: 6}}, "Q", real_time=False) == {"in": {0: 6, 1: 3}}


def test_what_is_no_record_is_passed_once_all_before_it_is_read() -> None:
    read = {"Q": {"in": {0: 5, 1: 7, 2: 9}}}
    status = Status(
        read=read, gaps={"in": {0: (5, 6), 1: (8, 10), 2: (7, 9)}, "other": {0: (3, 4)}}
    )
    assert status.reached({}, "Q") == {"in": {0: 6, 1: 7, 2: 9}}
    assert status.reached({"in": {0: 6}, "other": {0: 3}}, "Q") == {
        "in": {0: 6, 1: 7, 2: 9},
        "other": {0: 4},
    }
    assert status.reached({"in": {1: 8}}, "R") == {"in": {1: 10}}


def test_a_query_that_memory_is_too_little_for_is_tried_with_less(
    manager: QueryManager, script: Script
) -> None:
    script.backlog = NEAR + 1
    manager.add(definition())
    for times in (1, 2, 3):
        run = await_runs(script, *["catch up"] * times)
        run.end(Failure("too large", False, exhausting=True))
    await_until(lambda: "RESUME Q" in (info(manager).error or ""), "the query to be stopped")
    assert info(manager).state is QueryState.ERROR
    await_until(lambda: script.shrunk == 3, "its batches to be made smaller")
    manager.resume("Q")
    await_runs(script, *["catch up"] * 4)


# -- runs that do not end -------------------------------------------------------------------------


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Spark gives up stopping runs, which last until it is set; no caller waits long for them."""
    let_go = threading.Event()

    def stop(run: ScriptedRun) -> bool:
        run.asked += 1
        run.running = run.running and not let_go.is_set()
        return not run.running

    monkeypatch.setattr(ScriptedRun, "stop", stop)
    monkeypatch.setattr(queries, "STOP_SECONDS", 0.3)
    monkeypatch.setattr(lifecycle, "STOP_LOOK_SECONDS", 0.01)
    yield let_go
    let_go.set()
    # The manager's fixture closes it next; on a busy machine the runs take longer to end.
    monkeypatch.setattr(queries, "STOP_SECONDS", 30.0)


def test_a_run_that_does_not_stop_keeps_its_checkpoint(
    manager: QueryManager, script: Script, hung: threading.Event, tmp_path: Path
) -> None:
    manager.add(definition())
    run = await_runs(script, "real-time")
    (tmp_path / "Q").mkdir()
    assert manager.terminate("Q") == ["Q"]
    assert (tmp_path / "Q").exists() and script.stops == [] and script.forgotten == []
    assert info(manager).state is QueryState.RUNNING
    assert info(manager).reason == query.STOPPING
    run.end()
    await_until(lambda: not manager.infos(), "Q to end")
    assert not (tmp_path / "Q").exists() and script.stops == ["Q"]


def test_a_run_that_does_not_stop_is_not_paused(
    manager: QueryManager, script: Script, hung: threading.Event
) -> None:
    manager.add(definition())
    run = await_runs(script, "real-time")
    assert manager.pause("Q") == ["Q"]
    assert info(manager).state is QueryState.RUNNING
    await_until(lambda: run.asked > 1, "Spark to be asked again")
    hung.set()
    await_state(manager, QueryState.PAUSED)
    assert manager.pause("Q") == []


def test_a_run_that_does_not_stop_has_no_second_one_beside_it(
    manager: QueryManager, script: Script, hung: threading.Event
) -> None:
    manager.add(definition())
    run = await_runs(script, "real-time")
    assert not manager.replace(definition(Mode.MICRO_BATCH))
    assert manager.pause("Q") == ["Q"]
    manager.resume("Q")
    await_until(lambda: run.asked > 1, "Spark to be asked again")
    assert script.kinds == ["real-time"]
    run.end()
    await_runs(script, "real-time", "micro-batch")


def test_hung_runs_hold_up_no_other(
    manager: QueryManager, script: Script, hung: threading.Event
) -> None:
    names = [f"Q{number}" for number in range(2 * WORKERS)]
    for name in names:
        manager.add(definition(query_id=name))
    await_runs(script, *["real-time"] * len(names))
    assert manager.terminate(*names) == names
    manager.add(definition(query_id="R"))
    await_runs(script, *["real-time"] * len(names), "real-time")


def test_the_manager_closes_beside_a_run_that_does_not_stop(
    script: Script, hung: threading.Event, tmp_path: Path
) -> None:
    manager = QueryManager(script, script, tmp_path)
    manager.add(definition())
    manager.start()
    await_runs(script, "real-time")
    manager.close()
    assert script.runs[0].running


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Spark does not return from the start of a query named HUNG.. until it is set."""
    let_go = threading.Event()
    prepare = Script.prepare

    def hang(script: Script, query: Definition) -> Positions:
        if query.id.startswith("HUNG") and not let_go.wait(60):
            raise AssertionError("nothing has released it")
        return prepare(script, query)

    monkeypatch.setattr(Script, "prepare", hang)
    monkeypatch.setattr(workers, "STUCK_SECONDS", 0.2, raising=False)
    monkeypatch.setattr(queries, "STOP_SECONDS", 0.5)
    yield let_go
    let_go.set()


def test_calls_that_do_not_return_hold_up_no_other_query(
    script: Script, frozen: threading.Event, manager: QueryManager
) -> None:
    for number in range(WORKERS):
        manager.add(definition(query_id=f"HUNG{number}"))
    await_until(lambda: all(q.busy for q in manager._all()), "all workers to hang")
    manager.add(definition(query_id="Q"))
    await_runs(script, "real-time")
    assert manager.terminate("Q") == []
    frozen.set()
    await_runs(script, *["real-time"] * (WORKERS + 1))
    # The threads that hung are not needed beside those that took their places.
    threads = manager._workers._began
    await_until(lambda: len(threads) <= WORKERS, "the surplus threads to end")


def test_few_threads_replace_those_that_hang(
    script: Script,
    frozen: threading.Event,
    manager: QueryManager,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "STUCK_MOST", 2)
    for number in range(3 * WORKERS):
        manager.add(definition(query_id=f"HUNG{number}"))
    pool = manager._workers
    await_until(lambda: pool._stuck() >= WORKERS, "the workers to hang")
    pool.replace_stuck()
    assert len(pool._began) == WORKERS


def test_the_manager_closes_beside_a_call_that_does_not_return(
    script: Script, frozen: threading.Event, tmp_path: Path
) -> None:
    manager = QueryManager(script, script, tmp_path)
    manager.add(definition(query_id="HUNG"))
    manager.start()
    await_until(lambda: manager._all()[0].busy, "the worker to hang")
    closing = threading.Thread(target=manager.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive() and not frozen.is_set()


def test_a_query_is_not_added_over_one_that_still_runs(
    manager: QueryManager, script: Script, hung: threading.Event
) -> None:
    manager.add(definition())
    run = await_runs(script, "real-time")
    assert manager.terminate("Q") == ["Q"]
    with pytest.raises(ExternalError, match="query Q does not stop"):
        manager.add(definition())
    run.end()
    await_until(lambda: not manager.infos(), "Q to end")
    manager.add(definition())
    await_runs(script, "real-time", "real-time")


def test_pauses_are_concurrent(
    manager: QueryManager, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "STOP_SECONDS", 0.3)
    manager.add(definition())
    manager.add(definition(query_id="R"))
    await_runs(script, "real-time", "real-time")
    hung = script.runs[0]
    monkeypatch.setattr(hung, "stop", lambda: False)
    assert manager.pause("Q", "R") == ["Q"]
    assert manager.infos()[1].state is QueryState.PAUSED
    hung.end()
    await_state(manager, QueryState.PAUSED)


def test_an_error_outside_of_any_query_does_not_end_the_supervision(
    manager: QueryManager, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()

    def fail(*_: object) -> None:
        failed.set()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(slot_sharing, "SHARE_SECONDS", 0.0)
    monkeypatch.setattr(slot_sharing, "to_move", fail)
    assert failed.wait(10)
    manager.add(definition())
    await_runs(script, "real-time")


def test_a_query_whose_lag_is_unknown_has_not_recovered() -> None:
    run = ScriptedRun("real-time")
    too_slow = replace(failures.Failures(), error="too slow", exhausted=2)
    before = Query(definition(), Live(run, 0.0, {}), failures=too_slow)
    seen = events.Observed(run, replace(before.health, positions={}, lag=None))
    after, _ = lifecycle.step(before, seen, lifecycle.STEADY_SECONDS + 1)
    assert after.failures == replace(failures.Failures(), exhausted=2)
