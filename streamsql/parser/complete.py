"""Incomplete text in the shell: tokens for highlighting, and possible keywords."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token

from streamsql import types
from streamsql.parser.build.context import resolve_words
from streamsql.parser.loader import load
from streamsql.parser.messages.lookahead import read
from streamsql.parser.script import BUILDERS
from streamsql.parser.tokens.keywords import KEYWORDS
from streamsql.parser.tokens.lexer import lex, lexemes

_KINDS = {
    "COMMENT": "comment",
    "UNCLOSED_COMMENT": "comment",
    "TEXT_LITERAL": "string",
    "UNCLOSED_TEXT": "string",
    "QUOTED": "name",
    "UNCLOSED_NAME": "name",
    "DIGIT_WORD": "name",
    "DOUBLE_LITERAL": "number",
    "DECIMAL_LITERAL": "number",
    "INTEGER_LITERAL": "number",
    "ESCAPED_VARIABLE": "variable",
    "VARIABLE": "variable",
    "ESCAPED_TEXT": "string",
    "SYMBOL": "operator",
    "ILLEGAL": "error",
}
_MARKED = {"AS_OF": "AS OF", "EPOCH": "EPOCH"}
"""Terminals of streamsql/parser/build/marks.py that are suggested, and their texts."""
_UNCLOSED = frozenset({"UNCLOSED_TEXT", "UNCLOSED_NAME", "UNCLOSED_COMMENT"})


def tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, start) of every piece but blanks; text need not be complete. The kinds:
    keyword, type, name, string, number, operator, comment, variable, error."""
    for kind, written, start in lexemes(text):
        if kind == "WORD":
            yield _word_kind(written.upper()), written, start
        elif kind != "SPACE":
            yield _KINDS[kind], written, start


def _word_kind(word: str) -> str:
    if word in KEYWORDS:
        return "keyword"
    return "type" if word in types.PRIMITIVES else "name"


def expected_keywords(prefix_text: str) -> set[str]:
    """The keywords (and names of types, where one is due) that may follow the text's last
    statement; none inside a string or comment, or after an error."""
    prefix = lex(prefix_text)
    if prefix and prefix[-1].type in _UNCLOSED:
        return set()
    begin = max((i + 1 for i, t in enumerate(prefix) if t.type == "SEMICOLON"), default=0)
    statement = resolve_words(prefix[begin:], cut_off=True)
    found = _words_after(statement)
    if [token.upper() for token in statement[-2:]] == ["AS", "OF"]:  # OF may be an alias, too
        statement[-2].type = "AS_OF"
        found |= _words_after(statement)
    return found


def _words_after(statement: list[Token]) -> set[str]:
    position, count = read(load(BUILDERS), "statement", statement)
    if count < len(statement):
        return set()
    marked = {text for terminal, text in _MARKED.items() if terminal in position.accepted}
    return marked | position.words
