"""What is said of a process that has ended, by how it has."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streamsql.executor.spark import jvm_ends
from streamsql.executor.spark.jvm_ends import JvmEnds

WAITS = "import time; time.sleep(600)"


def run(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code])


def ended(process: subprocess.Popen[bytes], how: Callable[[], None] = lambda: None) -> JvmEnds:
    ends = JvmEnds()
    ends.begun(process)
    how()
    process.wait()
    return ends


@pytest.fixture(autouse=True)
def _no_memory_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_ends, "processes_out_of_memory", lambda: 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_is_killed_is_not_to_blame(number: signal.Signals) -> None:
    process = run(WAITS)
    assert ended(process, lambda: process.send_signal(number)).was_killed()


def test_who_ends_by_itself_has_done_so() -> None:
    assert not ended(run("raise SystemExit(3)")).was_killed()
    assert not ended(run("import os; os.abort()")).was_killed()


@pytest.mark.parametrize("counts", [[4, 5], [None, None]])
def test_the_kernel_kills_for_a_reason(
    monkeypatch: pytest.MonkeyPatch, counts: list[int | None]
) -> None:
    said = iter(counts)
    monkeypatch.setattr(jvm_ends, "processes_out_of_memory", lambda: next(said))
    process = run(WAITS)
    assert not ended(process, process.kill).was_killed()


def test_the_next_one_is_not_the_one_that_was_killed() -> None:
    first = run(WAITS)
    ends = ended(first, first.kill)
    second = run("pass")
    ends.begun(second)
    second.wait()
    assert not ends.was_killed()


def test_one_that_has_begun_leaves_what_the_last_has_ended_by() -> None:
    first = run(WAITS)
    ends = ended(first, first.kill)
    second = run(WAITS)
    try:
        ends.begun(second)
        assert ends.was_killed()
    finally:
        second.kill()
        second.wait()


@pytest.mark.parametrize(
    ("text", "count"), [("pgfault 7\noom_kill 3\n", 3), ("pgfault 7\n", None), (None, None)]
)
def test_what_linux_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, count: int | None
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(jvm_ends, "_COUNTS", tmp_path / "vmstat")
    if text is not None:
        (tmp_path / "vmstat").write_text(text)
    assert jvm_ends.processes_out_of_memory() == count
