"""The tests that only `make soak` runs, and files none of whose tests `-m` selects: to import them
would take half of the collection."""

from __future__ import annotations

import re
from pathlib import Path

_WITHOUT = re.compile(r"not \w+(?: and not \w+)*")
_WITH = re.compile(r"\(?(?P<names>\w+(?: or \w+)*)\)?(?: and not \w+)*")
_MARKS_OF_FILE = re.compile(r"^pytestmark = (\[.*?\]|.*?$)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"\bmark\.(\w+)")

REDUNDANT = frozenset(
    line
    for line in (Path(__file__).parent / "soak" / "redundant.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
"""The tests of redundant.txt by their ids."""
REDUNDANT_FILES = frozenset(test.partition("::")[0] for test in REDUNDANT)


def is_unselected(file: str, text: str, expression: str) -> bool:
    """Whether a test file certainly has no test for `-m expression`; `file` is its path from the
    project's root."""
    if _WITHOUT.fullmatch(expression):
        unwanted = set(expression.replace("not ", "").split(" and "))
        found = _MARKS_OF_FILE.search(text)
        return found is not None and not unwanted.isdisjoint(_MARK.findall(found[1]))
    if wanted := _WITH.fullmatch(expression):
        marks = set(_MARK.findall(text))
        if "variants" in marks or file in REDUNDANT_FILES:
            marks.add("slow")
        return marks.isdisjoint(wanted["names"].split(" or "))
    return False
