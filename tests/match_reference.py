"""MATCH_RECOGNIZE by plain backtracking, as SQL:2016 describes it: what the state operator, which
follows all ways at a time, is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamsql import nodes as n

Row = Mapping[str, Any]
Labels = tuple[str, ...]
"""Of each row of a match, from its first on, the variable."""


@dataclass(frozen=True)
class Partial:
    """The rows of a match so far, the last of them perhaps the one in question."""

    rows: Sequence[Row]
    start: int
    labels: Labels

    def of(self, variable: str | None) -> list[Row]:
        """Those of a variable, or all."""
        own = self.rows[self.start : self.start + len(self.labels)]
        pairs = zip(own, self.labels, strict=True)
        return [row for row, label in pairs if variable in (None, label)]

    def last(self, variable: str | None, column: str, offset: int = 0) -> Any:
        """LAST(variable.column, offset)."""
        own = self.of(variable)
        return own[-1 - offset][column] if offset < len(own) else None

    def first(self, variable: str | None, column: str, offset: int = 0) -> Any:
        """FIRST(variable.column, offset)."""
        own = self.of(variable)
        return own[offset][column] if offset < len(own) else None

    def previous(self, column: str) -> Any:
        """PREV(column)."""
        place = self.start + len(self.labels) - 2
        return self.rows[place][column] if place >= 0 else None


Condition = Callable[[Partial], bool]


@dataclass
class Matching:
    """Matches among the rows of one partition. Rows have a `time`; `now` is what time it is when
    the rows of a stream are at their end (None: they end)."""

    rows: Sequence[Row]
    pattern: n.Pattern
    conditions: Mapping[str, Condition]
    after: n.AfterMatch = field(default_factory=n.AfterMatch)
    within: int | None = None
    now: int | None = None
    _touched: bool = False
    """Whether a row that is still to come could change the outcome."""

    def matches(self) -> Iterator[Partial]:
        """All matches, in their order."""
        start = 0
        while start < len(self.rows):
            self._touched = False
            ways = self._walk(self.pattern, start, Partial(self.rows, start, ()))
            found = next((match for _, match in ways), None)
            overlaps = self.after.to is n.SkipTo.NEXT_ROW
            if self._open(start):
                if not overlaps:
                    return
            elif found is not None:
                yield found
                start = self._next(found)
                continue
            start += 1

    def _open(self, start: int) -> bool:
        if self.now is None or not self._touched:
            return False
        return self.within is None or self.rows[start]["time"] + self.within > self.now

    def _next(self, found: Partial) -> int:
        variable, labels = self.after.variable, found.labels
        match self.after.to:
            case n.SkipTo.NEXT_ROW:
                place = 1
            case n.SkipTo.PAST_LAST_ROW:
                place = len(labels)
            case n.SkipTo.FIRST:
                place = labels.index(variable or "")
            case _:
                place = len(labels) - 1 - labels[::-1].index(variable or "")
        return found.start + max(place, 1)

    def _walk(self, part: n.Pattern, at: int, match: Partial) -> Iterator[tuple[int, Partial]]:
        """The continuations after the part, preferred ones first."""
        if isinstance(part, n.PatternVariable):
            if at == len(self.rows):
                self._touched = True
                return
            first = self.rows[match.start]["time"]
            if self.within is not None and self.rows[at]["time"] - first >= self.within:
                return
            taken = Partial(self.rows, match.start, (*match.labels, part.name))
            condition = self.conditions.get(part.name)
            if condition is None or condition(taken):
                yield at + 1, taken
        elif isinstance(part, n.PatternSequence):
            yield from self._sequence(part.parts, at, match)
        elif isinstance(part, n.PatternAlternatives):
            for each in part.parts:
                yield from self._walk(each, at, match)
        elif isinstance(part, n.PatternRepeat):
            yield from self._repeat(part, 0, at, match)

    def _sequence(
        self, parts: Sequence[n.Pattern], at: int, match: Partial
    ) -> Iterator[tuple[int, Partial]]:
        if not parts:
            yield at, match
            return
        for place, taken in self._walk(parts[0], at, match):
            yield from self._sequence(parts[1:], place, taken)

    def _repeat(
        self, part: n.PatternRepeat, count: int, at: int, match: Partial
    ) -> Iterator[tuple[int, Partial]]:
        if part.reluctant and count >= part.least:
            yield at, match
        if part.most is None or count < part.most:
            for place, taken in self._walk(part.part, at, match):
                if place > at or count < part.least:  # no row again and again leads nowhere
                    yield from self._repeat(part, count + 1, place, taken)
        if not part.reluctant and count >= part.least:
            yield at, match
