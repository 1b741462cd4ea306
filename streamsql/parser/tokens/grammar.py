"""The text of the grammar, and the words in it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("streamsql.grammar")))
MAIN = FOLDER / "streamsql.lark"
_IMPORTED = FOLDER / "expressions.lark"
_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r'"([A-Z_]+)"')


@cache
def text() -> str:
    """The rules for statements; those for expressions are imported by them."""
    return MAIN.read_text("utf-8")


@cache
def imported_text() -> str:
    return _IMPORTED.read_text("utf-8")


def words() -> frozenset[str]:
    """All words that stand in a rule."""
    rules = _COMMENT.sub("", text() + imported_text())
    return frozenset(_WORD.findall(rules))
