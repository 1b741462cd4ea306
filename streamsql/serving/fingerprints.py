"""A statement's shape: its text without its literals, by which a prepared one is found again."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    |(?P<number>[0-9][0-9A-Za-z_.]*|\.[0-9][0-9A-Za-z_]*)
    |[A-Za-z_][A-Za-z0-9_@]*
    |"(?:[^"]|"")*"|`(?:[^`]|``)*`
    |(?P<other>--|/\*|\$\{|['"`])""",
    re.VERBOSE,
)
LONGEST = 4_000
"""Characters of a statement that is worth preparing."""


@dataclass(frozen=True)
class Literal:
    """An unsigned literal, and its end."""

    written: str
    end: int

    @property
    def is_text(self) -> bool:
        """Whether it was written between quotes."""
        return self.written[0] == "'"

    @property
    def text(self) -> str:
        return self.written[1:-1].replace("''", "'")


@dataclass(frozen=True)
class Fingerprint:
    """A statement's text with a mark in place of each literal, and the literals."""

    text: str
    literals: tuple[Literal, ...]


KEPT = 1_000
_KNOWN: dict[tuple[str, str], str] = {}
"""Of statements with one literal: the fingerprint's text by the parts before and after it."""


def fingerprint_of(sql: str) -> Fingerprint | None:
    """None for complex statements: comments, variables, other kinds."""
    parts = _around_literal(sql)
    if parts is None:
        return _read(sql)
    before, written, after = parts
    end = len(before) + len(written)
    text = _KNOWN.get((before, after))
    if text is not None:
        return Fingerprint(text, (Literal(written, end),))
    found = _read(sql)
    if found is not None and found.literals == (Literal(written, end),):
        if len(_KNOWN) >= KEPT:
            _KNOWN.clear()
        _KNOWN[before, after] = found.text
    return found


def _around_literal(sql: str) -> tuple[str, str, str] | None:
    """A statement in three, if it looks as if the second was its only literal: its first text, or
    the number at its end."""
    before, quote, rest = sql.partition("'")
    if quote:
        text, quote, after = rest.partition("'")
        return (before, f"'{text}'", after) if quote else None
    if len(sql) > LONGEST:
        return None
    body = sql.rstrip().removesuffix(";").rstrip()
    before = body.rstrip("0123456789")
    if before == body or not (before.endswith("=") or before[-1:].isspace()):
        return None
    return before, body[len(before) :], sql[len(body) :]


def _read(sql: str) -> Fingerprint | None:
    begin = len(sql) - len(sql.lstrip())
    if len(sql) > LONGEST or sql[begin : begin + 6].upper() != "SELECT":
        return None
    pieces: list[str] = []
    literals: list[Literal] = []
    at = begin
    for found in _TOKEN.finditer(sql, begin):
        kind = found.lastgroup
        if kind is None:
            continue
        if kind == "other":
            return None
        pieces.append(sql[at : found.start()])
        # By kind: a text instead of a number is another statement.
        pieces.append("'" if kind == "text" else "#")
        at = found.end()
        literals.append(Literal(found.group(), at))
    pieces.append(sql[at:].rstrip().rstrip(";"))
    return Fingerprint("\0".join(pieces), tuple(literals))
