"""Runs the selected cases a few at a time, ahead of the tests that ask for their outcomes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from queries.runner import CaseRun, Environment, Outcome


class Runs:
    """Starts all cases that were selected when the first result is asked for."""

    def __init__(self, selected: dict[str, tuple[dict[str, Any], bool]], at_a_time: int) -> None:
        self._selected = selected
        self._futures: dict[str, Future[Outcome]] = {}
        self._pool = ThreadPoolExecutor(at_a_time)

    def outcome(self, name: str, environment: Environment) -> Outcome:
        if not self._futures:
            for other, (case, restart) in self._selected.items():
                run = CaseRun(case, environment)
                self._futures[other] = self._pool.submit(run.run, restart)
        return self._futures[name].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
