"""SQL as text while it is being written: its words, its pieces, and whether it is complete.

A module of its own: whoever reads or colours statements needs no functions and no planner.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.nodes import RunScript
from streamsql.parser import (
    KEYWORDS,
    RESERVED,
    expected_keywords,
    is_complete,
    parse_one,
    parse_type,
    split,
)
from streamsql.parser.tokens.lexer import lexemes

__all__ = [
    "KEYWORDS",
    "RESERVED",
    "expected_keywords",
    "is_complete",
    "lexemes",
    "parse_type",
    "script_path",
    "split",
]


def script_path(sql: str, variables: Mapping[str, str] | None) -> str:
    """The file that a RUN SCRIPT names; ParseError where the statement is wrong."""
    statement = parse_one(sql, variables)
    assert isinstance(statement, RunScript)
    return statement.path
