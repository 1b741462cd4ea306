"""The steps of a start in a terminal: drawn in place, and erased."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from awaiting import await_until

from streamsql.cli.terminal import progress
from streamsql.cli.terminal.progress import waiting
from streamsql.status import StartupStatus, StartupStep, StepState

STARTING = StartupStatus(
    (
        StartupStep("jars", StepState.DONE),
        StartupStep("kafka", StepState.RUNNING, "fetching " + "x" * 200, 0.5),
        StartupStep("spark", StepState.WAITING),
    )
)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Tty:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Tty()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    return terminal


def test_a_line_per_step_as_wide_as_the_terminal(shown: Tty) -> None:
    with waiting(lambda: STARTING):
        await_until(lambda: "\x1b[3A\x1b[J" in shown.getvalue(), "a second drawing", 10.0)
    first = shown.getvalue().partition("\x1b")[0].splitlines()
    assert [line[2:7] for line in first] == ["Jars", "Kafka", "Spark"]
    assert first[0][0] == "✓" and first[1].endswith(" " + "━" * 30)
    assert max(map(len, first)) <= 60
    assert shown.getvalue().endswith("\x1b[3A\x1b[J")


def test_a_sign_of_life_after_the_start(shown: Tty) -> None:
    with waiting(lambda: StartupStatus(()), "stopping"):
        await_until(lambda: "stopping\n" in shown.getvalue(), "the note", 10.0)
    assert shown.getvalue().endswith("\x1b[1A\x1b[J")


def test_nothing_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    with waiting(lambda: STARTING):
        pass
    assert plain.getvalue() == ""
