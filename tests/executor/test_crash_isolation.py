"""Which query is held to have ended the JVM, and which queries run again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from streamsql.executor.queries import crash_isolation, events
from streamsql.executor.queries.events import Event
from streamsql.executor.queries.failures import MOST, Failures
from streamsql.executor.queries.lifecycle import STEADY_SECONDS, step
from streamsql.executor.queries.phases import CatchingUp, Held, Live
from streamsql.executor.queries.query import Query
from streamsql.executor.queries.spark_run import Failure
from streamsql.kafka.positions import Positions
from tests.executor.definitions import definition
from tests.executor.test_queries import ScriptedRun

DIED = Failure("Spark does not answer", True, died=True)
LARGE = Failure("too large for the engine's memory: a list", False, exhausting=True)


@dataclass
class Engine:
    """Queries that run, but for those that may not, until the JVM dies."""

    queries: dict[str, Query] = field(default_factory=dict)
    was_killed: bool = False
    now: float = 0.0

    def post(self, name: str, event: Event) -> None:
        self.queries[name], _ = step(self.queries[name], event, self.now)

    def start(self, positions: Positions | None = None) -> set[str]:
        """The queries that run then."""
        self.now += 100.0
        for name, query in self.queries.items():
            if crash_isolation.may_start(query, self.queries.values(), self.now):
                self.post(name, events.StartDue())
                run = CatchingUp(ScriptedRun("catch up"), self.now, positions or {})
                self.post(name, events.Started(run, positions or {}, 9))
        return {query.id for query in self.running()}

    def die(self) -> None:
        queries = list(self.queries.values())
        crashed = crash_isolation.crashed(queries, self.now, was_killed=self.was_killed)
        for name, event in crashed.items():
            self.post(name, event)
        for query in self.running():
            self.end(query.id, DIED)

    def running(self) -> list[Query]:
        return [query for query in self.queries.values() if query.run is not None]

    def pass_trial(self) -> None:
        for query in self.running():
            self.recover(query.id)

    def recover(self, name: str) -> None:
        self.queries[name] = replace(self.queries[name], failures=Failures())

    def go_live(self, name: str) -> None:
        was = self.queries[name].phase
        assert isinstance(was, CatchingUp | Live)
        live = Live(was.run, was.began_at, was.began_with)
        self.queries[name] = replace(self.queries[name], phase=live)

    def end(self, name: str, failure: Failure) -> None:
        run = self.queries[name].run
        self.post(name, events.RunFailed(run, failure))
        self.post(name, events.RunStopped(run))

    def held(self) -> list[str]:
        return [name for name, query in self.queries.items() if isinstance(query.phase, Held)]


def engine(*names: str) -> Engine:
    return Engine({name: Query(definition(query_id=name)) for name in names})


def test_the_only_suspect_is_stopped_and_the_others_continue() -> None:
    one = engine("A", "B", "C")
    for _ in range(2):
        assert one.start() == {"A", "B", "C"}
        one.die()
    # Each has been there twice: from now on one at a time, as half of three is.
    assert one.start() == {"A"}
    one.recover("A")
    assert one.start() == {"A", "B"}
    one.die()
    assert one.held() == ["B"]
    failures = one.queries["B"].failures
    assert failures.error == (
        "Spark's JVM has crashed 3 times in a row while it was running: RESUME B starts it again"
    )
    assert not failures.retryable
    assert one.start() == {"A", "C"}
    one.recover("A")
    one.recover("C")
    one.post("B", events.ResumeRequested())
    assert one.start() == {"A", "B", "C"}


@pytest.mark.parametrize("guilty", "ABCDEFGHIJKL")
def test_one_of_many_is_found_by_halves(guilty: str) -> None:
    one = engine(*"ABCDEFGHIJKL")
    watched_with_it = []
    while not one.held():
        if guilty in one.start():
            suspects = [q for q in one.running() if q.failures.crashes >= crash_isolation.SUSPECT]
            watched_with_it.append(len(suspects))
            one.die()
        else:
            one.pass_trial()
    assert watched_with_it[:2] == [0, 0]
    assert sorted(watched_with_it[2:], reverse=True) == watched_with_it[2:]
    assert max(watched_with_it) <= 6
    assert watched_with_it[-1] == 1
    assert len(watched_with_it) <= 7
    assert one.held() == [guilty]
    while one.start() != one.queries.keys() - {guilty}:
        one.pass_trial()


def test_none_of_several_is_held_that_have_stood_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_isolation, "TRIAL_SECONDS", 0.0)
    one = engine("A", "B")
    for _ in range(2 * MOST):
        while one.start() != {"A", "B"}:
            one.go_live("A")
        one.go_live("B")
        one.die()
    assert not one.held()


def test_a_jvm_that_was_killed_says_nothing_of_its_queries() -> None:
    one = engine("A", "B")
    one.was_killed = True
    for _ in range(2 * MOST):
        assert one.start() == {"A", "B"}
        one.die()
    assert [query.failures.crashes for query in one.queries.values()] == [0, 0]


def test_an_idle_query_is_not_active() -> None:
    one = engine("A", "B")
    for _ in range(3):
        one.start()
        sleeper = one.queries["B"]
        one.post("B", events.Observed(sleeper.run, replace(sleeper.health, asleep=True)))
        one.die()
    assert one.held() == ["A"]


def test_a_crash_is_counted_once_though_its_runs_are_found_one_after_the_other() -> None:
    one = engine("A", "B")
    one.start()
    one.die()
    one.start()
    crashed = crash_isolation.crashed(one.running(), one.now, was_killed=False)
    one.post("A", crashed["A"])
    again = crash_isolation.crashed(one.running(), one.now, was_killed=False)
    assert set(crashed) == {"A", "B"} and set(again) == {"B"}


def test_a_lack_of_memory_is_tried_three_times() -> None:
    one = engine("A")
    for _ in range(3):
        assert one.start() == {"A"}
        one.end("A", LARGE)
    assert one.start() == set()
    assert one.queries["A"].failures.error == (
        f"{LARGE.text}, 3 times in a row: RESUME A starts it again"
    )


@pytest.mark.parametrize(("lag", "further", "forgotten"), [(5, False, False), (5, True, True)])
def test_who_runs_for_a_while_is_cleared_if_it_has_come_further(
    lag: int, further: bool, forgotten: bool
) -> None:
    one = engine("A")
    one.start()
    one.end("A", LARGE)
    one.start({"in": {0: 1}})
    one.go_live("A")
    query = one.queries["A"]
    one.now += STEADY_SECONDS + 1
    health = replace(query.health, lag=lag, positions={"in": {0: 2 if further else 1}})
    one.post("A", events.Observed(query.run, health))
    failures = one.queries["A"].failures
    assert failures.error is None
    assert (failures.exhausted == 0) is forgotten
