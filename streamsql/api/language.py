"""Keywords, tokens and completeness of SQL text. A separate module, since syntax highlighting needs
no functions and no planner."""

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
    """The file of a RUN SCRIPT; ParseError for an invalid statement."""
    statement = parse_one(sql, variables)
    assert isinstance(statement, RunScript)
    return statement.path
