"""Lark's complaint about a token to the error a user sees."""

from __future__ import annotations

from lark import Lark, Token

from streamsql.errors import ParseError
from streamsql.parser.lexer import Lines


def lexical_error(tokens: list[Token], lines: Lines) -> ParseError | None:
    """The error of the first piece of text that is no token."""
    return None


def syntax_error(
    lark: Lark, start: str, tokens: list[Token], token: Token, sql: str, lines: Lines
) -> ParseError:
    if token.type == "$END":
        end = tokens[-1].end_pos or 0 if tokens else 0
        return ParseError("unexpected end of statement", span=lines.span(end, end))
    return ParseError(
        f"unexpected {token}", span=lines.span(token.start_pos or 0, token.end_pos or 0)
    )
