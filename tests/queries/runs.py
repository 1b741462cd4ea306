"""Runs the selected cases a few at a time, ahead of the tests that ask for their outcomes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from queries.compare import problems
from queries.runner import Mode, Outcome, QueryRun

from streamsql.test_driver.fixture import Fixture


class Runs:
    """Starts all cases that were selected when the first result is asked for."""

    def __init__(self, selected: dict[str, tuple[dict[str, Any], Mode]], at_a_time: int) -> None:
        self._selected = selected
        self._futures: dict[str, Future[Outcome]] = {}
        self._pool = ThreadPoolExecutor(at_a_time)

    def outcome(self, name: str, fixture: Fixture) -> Outcome:
        if not self._futures:
            for other, (case, mode) in self._selected.items():
                run = QueryRun(case, fixture)
                done = partial(_is_right, case)
                self._futures[other] = self._pool.submit(run.run, mode, done)
        return self._futures[name].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _is_right(case: dict[str, Any], outcome: Outcome) -> bool:
    return not problems(case, outcome)
