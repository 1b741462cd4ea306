"""Runs many tests concurrently and yields each result as it completes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from streamsql.test_driver.fixture import Fixture
from streamsql.testing.cases.case import Case, Result
from streamsql.testing.comparison import Comparison
from streamsql.testing.judge import judge

JOBS = 4
WAIT_SECONDS = 0.2


def run_cases(
    cases: Sequence[Case],
    fixture: Fixture,
    comparison: Comparison = Comparison.FINAL,
    jobs: int = JOBS,
    begun: Callable[[Case], None] = lambda case: None,
) -> Iterator[Result]:
    """The results in the order of completion; reports each started test to `begun`."""

    def run(case: Case) -> Result:
        begun(case)
        return judge(case, fixture, comparison)

    pool = ThreadPoolExecutor(jobs, thread_name_prefix="test")
    left: set[Future[Result]] = {pool.submit(run, case) for case in cases}
    try:
        while left:
            # In short waits: one without an end would not let a Ctrl-C through.
            done, left = wait(left, WAIT_SECONDS, FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
