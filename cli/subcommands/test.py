"""`streamsql test`: runs tests of pipelines on a real broker and Spark, and shows the differences.
streamsql.testing runs and judges the tests; this module formats the output."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import kafka_of
from streamsql.cli.subcommands.slt import run_files, slt_files
from streamsql.cli.terminal.style import Style
from streamsql.errors import ConfigError
from streamsql.testing.cases.report import Report, write_junit

if TYPE_CHECKING:
    from rich.progress import Progress

    from streamsql.testing.cases.case import Result

DIFFERENCES_SHOWN = 12


def command(args: argparse.Namespace) -> int:
    """`test`: 0 only if no test failed or broke."""
    from streamsql.test_driver.fixture import open_fixture
    from streamsql.testing.cases.load import load
    from streamsql.testing.comparison import Comparison
    from streamsql.testing.suite import run_cases

    files, others = slt_files(args.paths)
    files = [path for path in files if (args.keep or "") in str(path)]
    cases = load(map(Path, others), args.keep or "")
    if not cases and not files:
        raise ConfigError("no matching tests", hint="Leave -k out, or name other files.")
    results: list[Result] = []
    start = time.monotonic()
    with ExitStack() as stack:
        report = stack.enter_context(Report(Path(args.report))) if args.report else None
        total = len(cases) + len(files)
        printer = _Printer(stack.enter_context(_progress(total)), args.verbose)
        kafka = kafka_of(args)

        def run() -> Iterator[Result]:
            if cases:
                with open_fixture(*kafka) as bed:
                    printer.describe("tests")
                    yield from run_cases(cases, bed, Comparison(args.compare), args.jobs)
            if files:
                yield from run_files(files, *kafka)

        try:
            for result in run():
                results.append(result)
                if report is not None:
                    report.add(result)
                printer.show(result)
        finally:
            if args.junit:
                write_junit(Path(args.junit), results)
            printer.summary(results, total, time.monotonic() - start)
    bad = sum(result.status.value in ("failed", "error") for result in results)
    return 1 if bad or len(results) < total else 0


@contextmanager
def _progress(total: int) -> Iterator[Progress]:
    """A bar on standard error, where that is a terminal; it vanishes when all is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    console = Console(stderr=True, highlight=False)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30, complete_style="cyan", finished_style="green"),
        MofNCompleteColumn(),
        Elapsed(),
        console=console,
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    progress.add_task("starting Kafka and Spark", total=total)
    with progress:
        yield progress


class _Printer:
    """Writes failures as they come; everything, if `verbose`."""

    def __init__(self, progress: Progress, verbose: bool) -> None:
        self._progress = progress
        self._verbose = verbose
        self._style = Style.of(sys.stdout)
        self._bad = 0

    def describe(self, text: str, done: int = 0) -> None:
        """Shows the current step and the number of remaining tests."""
        self._progress.update(self._progress.tasks[0].id, description=text, advance=done)

    def show(self, result: Result) -> None:
        failed = result.status.value in ("failed", "error")
        self._bad += failed
        self.describe(f"tests, {self._bad} failed" if self._bad else "tests", 1)
        if failed or self._verbose:
            self._write(self._lines(result))

    def _lines(self, result: Result) -> Iterator[str]:
        status = result.status.value
        colour = self._style.good if status == "passed" else self._style.error
        if status == "skipped":
            colour = self._style.dim
        took = self._style.dim(f"{result.seconds:.1f}s")
        yield f"{colour(status.upper())} {result.case.id} {took}"
        lines = list(result.differences) or [result.error or result.reason or ""]
        for line in lines[:DIFFERENCES_SHOWN]:
            yield from (f"    {part}" for part in line.splitlines())
        if len(lines) > DIFFERENCES_SHOWN:
            yield f"    .. and {len(lines) - DIFFERENCES_SHOWN} more"

    def summary(self, results: list[Result], total: int, seconds: float) -> None:
        counts = Counter(result.status.value for result in results)
        parts = [
            f"{counts[status]} {status}"
            for status in ("passed", "failed", "error", "skipped")
            if counts[status]
        ]
        if len(results) < total:
            parts.append(f"{total - len(results)} not run")
        bad = counts["failed"] + counts["error"]
        colour = self._style.error if bad or len(results) < total else self._style.good
        self._write([colour(", ".join(parts)) + f" in {seconds:.1f}s"])

    def _write(self, lines: Iterator[str] | list[str]) -> None:
        text = "\n".join(lines) + "\n"
        if self._progress.disable:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        # The bar steps aside, so that the two do not write over each other.
        self._progress.stop()
        sys.stdout.write(text)
        sys.stdout.flush()
        self._progress.start()
