"""The parts of `make soak`: together they are all long tests, and each has its day."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from threading import Event

import daily
import pytest
from selection import REDUNDANT_FILES

from scripts import soak

ROOT = Path(__file__).parent.parent
RANDOM_VIEWS = "tests/views/test_random_views.py"
SHARED = ("failures-", "views-", "graphs-")
"""Parts that share a file."""


def selected() -> Counter[str]:
    """The paths that the parts name, and once those that several parts share."""
    commands = [
        command
        for name, commands in soak.PARTS.items()
        for command in commands
        if soak._slow()[-2:] == tuple(command[len(soak._PYTEST) : len(soak._PYTEST) + 2])
        and not name.startswith(SHARED)
    ]
    found = Counter(word for command in commands for word in command if word.startswith("tests/"))
    return found + Counter([RANDOM_VIEWS])


def test_every_file_with_a_long_test_is_in_one_part() -> None:
    paths = selected()
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = file.read_text("utf-8")
        name = str(file.relative_to(ROOT))
        if "mark.slow" in text or "mark.variants" in text or name in REDUNDANT_FILES:
            if name == "tests/test_soak.py":
                continue
            assert name in paths or any(name.startswith(f"{path}/") for path in paths), name
    assert set(paths.values()) == {1}
    assert not [path for path in paths if not (ROOT / path).exists()]


def words_of(parts: str) -> Counter[str]:
    """The words of the parts whose names begin so."""
    commands = (c for name, found in soak.PARTS.items() if name.startswith(parts) for c in found)
    text = " ".join(word for command in commands for word in command)
    return Counter(text.replace("(", " ").replace(")", " ").split())


def test_every_run_of_many_failures_is_in_one_part() -> None:
    words = words_of("failures-")
    runs = [f"{mode}-{seed}" for mode in ("auto", "microbatch") for seed in range(2, 12)]
    assert {run: words[run] for run in runs} == dict.fromkeys(runs, 1)


def test_every_seed_of_random_views_is_in_one_part() -> None:
    words = words_of("views-")
    firsts = [str(seed) for seed in range(1_000, 1_600, 30)]
    assert {first: words[first] for first in firsts} == dict.fromkeys(firsts, 1)


def test_every_seed_of_random_graphs_is_in_one_part() -> None:
    words = words_of("graphs-")
    firsts = [f"views[{seed}]" for seed in range(1_000, 6_120, 10)]
    assert {first: words[first] for first in firsts} == dict.fromkeys(firsts, 1)


def test_each_part_has_its_day() -> None:
    begin = datetime.date(2026, 11, 26)
    days = [begin + datetime.timedelta(days=n) for n in range(2 * len(soak.DAILY))]
    found = [soak.today(day) for day in days]
    assert sorted(part for part, _ in found) == sorted([*soak.DAILY, *soak.DAILY])
    assert len(set(found)) == len(found)


def test_a_part_begins_with_other_tests_each_time() -> None:
    items = list(range(100))
    turns = [daily.rotated(items, times) for times in range(5)]
    assert turns[0] == items
    assert all(sorted(turn) == items for turn in turns)
    assert min(abs(a[0] - b[0]) for a, b in combinations(turns, 2)) > 10


def test_a_test_is_skipped_when_the_day_is_over() -> None:
    daily.skip_if_late(time.time() + 60)
    with pytest.raises(pytest.skip.Exception):
        daily.skip_if_late(time.time() - 1)


def test_a_test_is_cut_off_when_its_time_is_over() -> None:
    began = time.time()
    with pytest.raises(pytest.skip.Exception, match="cut off"), daily.cut_off(began + 0.1):
        Event().wait(30)
    assert time.time() - began < 10
    with daily.cut_off(time.time() + 60):
        pass


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> str:
    """A part whose command never ends by itself."""
    monkeypatch.setitem(soak.PARTS, "endless", [("http.server", "0")])
    monkeypatch.setattr(soak, "CUT_SECONDS", 0)
    monkeypatch.setattr(soak, "END_SECONDS", 0)
    return "endless"


def test_a_part_that_exceeds_its_limit_is_stopped_and_fails(
    endless: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert soak.main([endless, "--seconds", "1"]) == 1
    assert "endless: stopped, since it ran longer than" in capfd.readouterr().err


def test_the_daily_part_and_make_test_fit_in_45_minutes() -> None:
    assert soak.hard_limit(soak.DAILY_SECONDS) + soak.STOP_SECONDS <= 20 * 60


def test_an_unknown_part_is_an_error() -> None:
    assert soak.main(["nothing"]) == 2
