"""Which test files are left out of the collection."""

from __future__ import annotations

from pathlib import Path

import pytest
from selection import REDUNDANT, REDUNDANT_FILES, is_unselected

LIGHT = "not spark and not kafka and not slow"
HEAVY = "(spark or kafka) and not slow"
PLAIN = "def test_this() -> None: ...\n"
MARK = "pytest.mark."
MARKED = f"@{MARK}kafka\n{PLAIN}"


@pytest.mark.parametrize(
    ("text", "light", "heavy", "slow"),
    [
        (PLAIN, False, True, True),
        (MARKED, False, False, True),
        (f"@{MARK}variants\n{MARKED}", False, False, False),
        (f"pytestmark = {MARK}spark\n{PLAIN}", True, False, True),
        (f"pytestmark = [\n  {MARK}kafka,\n  {MARK}slow,\n]\n", True, False, False),
    ],
)
def test_a_file_without_selected_tests_is_left_out(
    text: str, light: bool, heavy: bool, slow: bool
) -> None:
    found = [is_unselected("tests/test_x.py", text, each) for each in (LIGHT, HEAVY, "slow")]
    assert found == [light, heavy, slow]


def test_a_file_with_a_redundant_test_has_a_slow_one() -> None:
    assert not is_unselected(min(REDUNDANT_FILES), MARKED, "slow")


def test_redundant_tests_are_ones_of_files_that_exist() -> None:
    root = Path(__file__).parent.parent
    for file, test in (each.split("::", 1) for each in REDUNDANT):
        name = test.partition("[")[0].rpartition("::")[2]
        assert f"def {name}(" in (root / file).read_text("utf-8"), f"{file}::{test}"


@pytest.mark.parametrize("expression", ["", "slow or not kafka", "not (spark or kafka)"])
def test_other_expressions_leave_out_nothing(expression: str) -> None:
    assert not is_unselected("tests/test_x.py", PLAIN, expression)
