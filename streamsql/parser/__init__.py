"""SQL text to syntax tree and back: what the rest of streamsql knows of the parser."""

from __future__ import annotations

from streamsql.parser.complete import expected_keywords, tokens
from streamsql.parser.generate.canonical import canonical
from streamsql.parser.generate.statements import to_sql
from streamsql.parser.script import (
    is_complete,
    parse,
    parse_each,
    parse_expression,
    parse_in_turn,
    parse_one,
    parse_type,
    split,
)
from streamsql.parser.tokens.keywords import KEYWORDS, RESERVED

__all__ = [
    "KEYWORDS",
    "RESERVED",
    "canonical",
    "expected_keywords",
    "is_complete",
    "parse",
    "parse_each",
    "parse_expression",
    "parse_in_turn",
    "parse_one",
    "parse_type",
    "split",
    "to_sql",
    "tokens",
]
