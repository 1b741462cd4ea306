"""Converts texts of PostgreSQL clients for our parser: names and placeholders.

Upper-case names are shown in lower case, and lower-case names in upper case, so that names that
clients read and quote refer to the same object. The schema `public` is removed, and cast types get
their names here. Each piece of the text keeps its position for errors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from streamsql.api.language import lexemes, split

SCHEMA = "public"
DATABASE = "streamsql"
MAX_PARAMETERS = 65_535
_TRIVIA = ("SPACE", "COMMENT")


def shown(name: str) -> str:
    """A name as clients see it; the same function leads back."""
    return name.swapcase() if name.isupper() or name.islower() else name


@dataclass(frozen=True)
class Piece:
    """One statement of a text, and the offset at which it begins."""

    text: str
    start: int


def statements(text: str) -> list[Piece]:
    return [Piece(found, span.start) for found, span in split(text)]


@dataclass
class Written:
    """A text put together of pieces of another."""

    text: str = ""
    _new: list[int] = field(default_factory=list)
    _old: list[int] = field(default_factory=list)

    def add(self, piece: str, old: int) -> None:
        """Append a piece that stood at an offset of the other text."""
        self._new.append(len(self.text))
        self._old.append(old)
        self.text += piece

    def origin(self, offset: int) -> int:
        """Position in the original text of an offset."""
        at = bisect_right(self._new, offset) - 1
        if at < 0:
            return offset
        following = self._old[at + 1] if at + 1 < len(self._old) else None
        found = self._old[at] + offset - self._new[at]
        return found if following is None else min(found, following)


@dataclass(frozen=True)
class Template:
    """A statement for our parser, with gaps where its parameters go."""

    pieces: tuple[tuple[str, int], ...]
    """Texts with where they stood."""
    gaps: tuple[tuple[int, bool], ...]
    """After each piece except the last: the number of the parameter (0: none), and whether it
    follows LIMIT or OFFSET, where only a number is allowed."""

    @property
    def parameters(self) -> int:
        return max((number for number, _ in self.gaps), default=0)

    @property
    def counts(self) -> frozenset[int]:
        """Parameters in positions where only a number is allowed."""
        return frozenset(number for number, count in self.gaps if count)

    def filled(self, values: Sequence[str]) -> Written:
        written = Written()
        for (piece, old), (number, _) in zip(self.pieces, self.gaps, strict=False):
            written.add(piece, old)
            if number:
                written.add(values[number - 1], old + len(piece))
        written.add(*self.pieces[-1])
        return written

    def marked(self) -> tuple[str, dict[int, str]]:
        """The statement with a text literal for each parameter, and what these texts are."""
        marks = {number: f"$streamsql${number}" for number, _ in self.gaps if number}
        texts = [
            "1" if number in self.counts else f"'{marks.get(number, '')}'"
            for number in range(1, self.parameters + 1)
        ]
        return self.filled(texts).text, marks


class TooManyParameters(Exception):
    """A number of a parameter that the protocol cannot have."""


def template(statement: Piece, *, ours: bool = True) -> Template:
    """A client's statement for our parser, or (not `ours`) unchanged except for its parameters."""
    maker = _Maker(statement.start, ours)
    tokens = list(lexemes(statement.text))
    at = 0
    while at < len(tokens):
        at = maker.take(tokens, at)
    return maker.made()


class _Maker:
    def __init__(self, base: int, ours: bool) -> None:
        self._base = base
        self._ours = ours
        self._pieces: list[tuple[str, int]] = []
        self._gaps: list[tuple[int, bool]] = []
        self._text: list[str] = []
        self._start = base
        self._word = ""
        """The last token, in upper case."""

    def take(self, tokens: list[tuple[str, str, int]], at: int) -> int:
        kind, text, start = tokens[at]
        if kind in _TRIVIA:
            self._text.append(text)
            return at + 1
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if text == "$" and following is not None and following[0] == "INTEGER_LITERAL":
            counts, end = self._word in ("LIMIT", "OFFSET"), at + 2
            cast = [piece for _, piece, _ in tokens[end : end + 2]]
            if counts and cast[:1] == ["::"] and self._ours:
                end += 2  # There only a number can stand, and no cast of one.
            last = tokens[end - 1]
            self._gap(following[1], counts, self._base + last[2] + len(last[1]))
            return end
        if not self._ours:
            self._text.append(text)
            return at + 1
        qualified = following is not None and following[1] == "."
        if qualified and self._word != "." and _plain(kind, text) == SCHEMA:
            # Blanks in its place, so that all that follows keeps its own.
            self._text.append(" " * (len(text) + 1))
            return at + 2
        # A quoted name is as long as its folded form.
        self._text.append(_folded(text) if kind == "QUOTED" and text[0] == '"' else text)
        self._word = text.upper()
        return at + 1

    def _gap(self, number: str, counts: bool, end: int) -> None:
        if len(number) > 5 or not 0 < int(number) <= MAX_PARAMETERS:
            raise TooManyParameters(f"unknown parameter ${number}")
        self._break(int(number), counts, end)
        self._word = "$"

    def _break(self, number: int, counts: bool, end: int) -> None:
        self._pieces.append(("".join(self._text), self._start))
        self._gaps.append((number, counts))
        self._text, self._start = [], end

    def made(self) -> Template:
        self._pieces.append(("".join(self._text), self._start))
        return Template(tuple(self._pieces), tuple(self._gaps))


def _plain(kind: str, text: str) -> str:
    return text[1:-1] if kind == "QUOTED" else text.lower()


def _folded(text: str) -> str:
    folded = shown(text)
    return folded if len(folded) == len(text) else text
