"""Which test files are left out of the collection."""

from __future__ import annotations

import pytest
from selection import is_unselected

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
    assert [is_unselected(text, each) for each in (LIGHT, HEAVY, "slow")] == [light, heavy, slow]


@pytest.mark.parametrize("expression", ["", "slow or not kafka", "not (spark or kafka)"])
def test_other_expressions_leave_out_nothing(expression: str) -> None:
    assert not is_unselected(PLAIN, expression)
