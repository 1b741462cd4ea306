"""Who is held to have taken the JVM with it, and who runs again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from streamsql.executor.queries import deaths
from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.executor.queries.spark_run import Failure
from tests.executor.test_queries import ScriptedRun, definition

DIED = Failure("Spark does not answer", True, died=True)
LARGE = Failure("too large for the engine's memory: a list", False, exhausting=True)


@dataclass
class Engine:
    """Queries that run, but for those that may not, until the JVM dies."""

    queries: list[PersistentQuery]
    was_killed: bool = False

    def start(self) -> set[str]:
        """Who runs then."""
        for query in self.queries:
            if query.run is None and deaths.may_start(query, self.queries):
                query.begun(ScriptedRun("catch up"), Activity.CATCHING_UP)
        return {query.id for query in self.queries if query.run is not None}

    def die(self) -> None:
        for query in self.queries:
            if query.run is not None:
                self._end(query, DIED)

    def running(self) -> list[PersistentQuery]:
        return [query for query in self.queries if query.run is not None]

    def pass_trial(self) -> None:
        for query in self.running():
            query.recovered()

    def _end(self, query: PersistentQuery, failure: Failure) -> None:
        judged = deaths.judge(query, failure, self.queries, lambda: self.was_killed)
        query.run = None
        query.failed(judged.text, judged.retryable, 0.0)


def engine(*names: str) -> Engine:
    return Engine([PersistentQuery(definition(query_id=name)) for name in names])


def test_who_dies_alone_is_stopped_and_the_others_go_on() -> None:
    one = engine("A", "B", "C")
    for _ in range(2):
        assert one.start() == {"A", "B", "C"}
        one.die()
    # Each has been there twice: from now on one at a time, as half of three is.
    assert one.start() == {"A"}
    one.queries[0].recovered()
    assert one.start() == {"A", "B"}
    one.die()
    assert [query.held for query in one.queries] == [False, True, False]
    assert one.queries[1].error == (
        "Spark's JVM has died 3 times while it was at work in a row: RESUME B starts it again"
    )
    assert not one.queries[1].retryable
    assert one.start() == {"A", "C"}
    one.queries[1].recovered()
    one.queries[2].recovered()
    assert one.start() == {"A", "B", "C"}


@pytest.mark.parametrize("guilty", range(12))
def test_one_of_many_is_found_by_halves(guilty: int) -> None:
    one = engine(*"ABCDEFGHIJKL")
    query = one.queries[guilty]
    watched_with_it = []
    while not query.held:
        running = one.start()
        if query.id in running:
            watched_with_it.append(sum(q.deaths >= deaths.SUSPECT for q in one.running()))
            one.die()
        else:
            one.pass_trial()
    assert watched_with_it[:2] == [0, 0]
    assert sorted(watched_with_it[2:], reverse=True) == watched_with_it[2:]
    assert max(watched_with_it) <= 6
    assert watched_with_it[-1] == 1
    assert len(watched_with_it) <= 7
    assert [q.id for q in one.queries if q.held] == [query.id]
    others = {q.id for q in one.queries} - {query.id}
    while one.start() != others:
        one.pass_trial()


def test_none_of_several_is_held_that_have_stood_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deaths, "TRIAL_SECONDS", 0.0)
    one = engine("A", "B")
    for _ in range(2 * deaths.MOST):
        while one.start() != {"A", "B"}:
            one.queries[0].activity = Activity.LIVE
        one.queries[1].activity = Activity.LIVE
        one.die()
    assert not any(query.held for query in one.queries)


def test_a_jvm_that_was_killed_says_nothing_of_its_queries() -> None:
    one = engine("A", "B")
    one.was_killed = True
    for _ in range(2 * deaths.MOST):
        assert one.start() == {"A", "B"}
        one.die()
    assert [query.deaths for query in one.queries] == [0, 0]


def test_who_sleeps_is_not_at_work() -> None:
    one = engine("A", "B")
    for _ in range(3):
        one.start()
        one.queries[1].asleep = True
        one.die()
    assert [query.held for query in one.queries] == [True, False]


def test_a_lack_of_memory_is_tried_three_times() -> None:
    one = engine("A")
    for _ in range(3):
        assert one.start() == {"A"}
        one._end(one.queries[0], LARGE)
    assert one.start() == set()
    assert one.queries[0].error == (
        f"{LARGE.text}; so it was 3 times in a row: RESUME A starts it again"
    )


@pytest.mark.parametrize(("lag", "further", "forgotten"), [(5, False, False), (5, True, True)])
def test_who_runs_for_a_while_is_cleared_if_it_has_come_further(
    lag: int, further: bool, forgotten: bool
) -> None:
    one = engine("A")
    query = one.queries[0]
    one.start()
    one._end(query, LARGE)
    query.positions = {"in": {0: 1}}
    one.start()
    query.lag = lag
    query.positions = {"in": {0: 2 if further else 1}}
    query.steady()
    assert query.error is None
    assert (query.exhausted == 0) is forgotten
