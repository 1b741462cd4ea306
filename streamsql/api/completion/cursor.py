"""Context of the cursor: the word under it, the words before it, the sources of the statement.
Tokenizes incomplete text with the parser's lexer, without parsing it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamsql.parser import tokens

_WORD = re.compile(r"[`\"]?[A-Za-z0-9_@]*\Z")
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_@]*)\Z")

Piece = tuple[str, str]
"""Kind and text of a token: words and unquoted names in upper case, quoted names without quotes."""


@dataclass(frozen=True)
class Cursor:
    """A position in a statement, and its context."""

    before: str
    """Text of the statement before the current word."""
    word: str
    """The existing part of the current word, which a suggestion replaces."""
    words: list[str]
    """Tokens of the statement before the current word."""
    statement_words: list[str]
    """All tokens of the statement, also after the cursor."""
    references: list[tuple[str, str]]
    """(source, alias) of FROM, JOIN and INTO; an empty alias if there is none."""
    in_string: bool = False
    in_comment: bool = False
    in_variable: bool = False

    @property
    def previous(self) -> str:
        """The previous word in upper case; empty at the start of a statement."""
        return self.words[-1] if self.words else ""

    @property
    def with_clause(self) -> bool:
        """Whether the innermost open parenthesis belongs to WITH."""
        depth = 0
        for i in range(len(self.words) - 1, -1, -1):
            if self.words[i] == ")":
                depth += 1
            elif self.words[i] == "(":
                depth -= 1
                if depth < 0:
                    return i > 0 and self.words[i - 1] == "WITH"
        return False

    @property
    def with_names(self) -> list[str]:
        """Properties already in the statement's WITH."""
        words = self.statement_words
        return [words[i - 1] for i in range(1, len(words)) if words[i] == "="]

    @property
    def defined_columns(self) -> list[str]:
        words = self.statement_words
        if words[:1] != ["CREATE"] or "(" not in words or words[words.index("(") - 1] == "WITH":
            return []
        names, depth = [], 0
        for i in range(words.index("("), len(words) - 1):
            if words[i] in ("(", "<"):
                depth += 1
            elif words[i] in (")", ">"):
                depth -= 1
                if depth == 0:
                    break
            if depth == 1 and words[i] in ("(", ","):
                names.append(words[i + 1])
        return names

    @property
    def struct_path(self) -> list[str]:
        """The names of `a->b->`."""
        path: list[str] = []
        i = len(self.words) - 1
        while i >= 1 and self.words[i] == "->":
            path.insert(0, self.words[i - 1])
            i -= 2
        return path


def locate(text: str, cursor: int) -> Cursor:
    """Analyzes the context of the cursor."""
    start, end = _statement(text, cursor)
    before, after = text[start:cursor], text[cursor:end]
    pieces = list(tokens(before))
    kind, last, at = pieces[-1] if pieces else ("", "", 0)
    variable = _VARIABLE.search(before)
    in_comment = kind == "comment" and at + len(last) == len(before) and not _closed(last)
    in_string = kind == "string" and not _is_closed_string(last)
    if variable:
        word = variable.group(1)
        pieces = pieces[: -1 if pieces else None]
    elif in_string:
        word = last[1:]
        pieces = pieces[:-1]
        after = after.partition("'")[2] if "'" in after else after
    else:
        found = _WORD.search(before)
        word = found.group() if found else ""
        pieces = [p for p in pieces if p[2] < len(before) - len(word)]
    read = before[: len(before) - len(word) - (1 if in_string else 0)]
    # An incomplete token at the cursor must not consume the rest of the statement.
    everything = _pieces(read) + _pieces(after.lstrip('`"}'))
    return Cursor(
        read,
        word,
        [_value(k, t) for k, t, _ in pieces if k != "comment"],
        [value for _, value in everything],
        _references(everything),
        in_string,
        in_comment,
        variable is not None,
    )


def _statement(text: str, cursor: int) -> tuple[int, int]:
    start, end = 0, len(text)
    for kind, written, at in tokens(text):
        if kind == "operator" and written == ";":
            if at < cursor:
                start = at + 1
            else:
                return start, at
    return start, end


def _closed(comment: str) -> bool:
    return comment.startswith("/*") and comment.endswith("*/") and len(comment) > 3


def _is_closed_string(literal: str) -> bool:
    return len(literal) > 1 and literal.endswith("'") and literal.count("'") % 2 == 0


def _pieces(text: str) -> list[Piece]:
    return [(kind, _value(kind, written)) for kind, written, _ in tokens(text) if kind != "comment"]


def _value(kind: str, written: str) -> str:
    if kind in ("string", "number"):
        return written
    if written[:1] in ("`", '"'):
        return written.strip(written[0])
    return written.upper()


def _references(pieces: list[Piece]) -> list[tuple[str, str]]:
    """Sources and aliases of a possibly incomplete statement."""
    found = []
    for i, (kind, word) in enumerate(pieces):
        follows = pieces[i + 1] if i + 1 < len(pieces) else ("", "")
        if kind != "keyword" or word not in ("FROM", "JOIN", "INTO") or follows[0] != "name":
            continue
        rest = pieces[i + 2 : i + 4]
        if rest and rest[0] == ("keyword", "AS"):
            rest = rest[1:]
        alias = rest[0][1] if rest and rest[0][0] == "name" and word != "INTO" else ""
        found.append((follows[1], alias))
    return found
