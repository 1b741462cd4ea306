"""SQL as text while it is being written: its words, its pieces, and whether it is complete.

A module of its own: whoever reads or colours statements needs no functions and no planner.
"""

from __future__ import annotations

from streamsql.parser import KEYWORDS, RESERVED, expected_keywords, is_complete
from streamsql.parser.tokens.lexer import lexemes

__all__ = ["KEYWORDS", "RESERVED", "expected_keywords", "is_complete", "lexemes"]
