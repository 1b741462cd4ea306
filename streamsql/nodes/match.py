"""The parts of MATCH_RECOGNIZE: a pattern, what a row of it has to meet, where the next begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sqlglot.expressions import Expr

from streamsql.errors import Span


@dataclass(frozen=True)
class PatternVariable:
    """A row that meets the condition of that name."""

    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PatternSequence:
    """Parts that follow each other, two at least."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternAlternatives:
    """`A | B`: the first that leads to a match; two at least."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternPermutation:
    """`(A, B)`, which PERMUTE has before it: parts in any order."""

    parts: tuple[PatternVariable, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PatternRepeat:
    """A repeated part, greedy or `reluctant`; `most` None: unbounded."""

    part: Pattern
    least: int
    most: int | None
    reluctant: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PatternExclusion:
    """`{- part -}`."""

    part: Pattern
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PatternAnchor:
    """`^` or `$`: the begin or the end of a partition."""

    mark: str
    span: Span | None = field(default=None, compare=False)


Pattern = (
    PatternVariable
    | PatternSequence
    | PatternAlternatives
    | PatternPermutation
    | PatternRepeat
    | PatternExclusion
    | PatternAnchor
)


class SkipTo(Enum):
    """Where the next match may begin: behind the last, behind the first row of this one, or with
    the first or last row of a variable."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True)
class AfterMatch:
    """AFTER MATCH SKIP ..; `variable` of TO FIRST and TO LAST."""

    to: SkipTo = SkipTo.PAST_LAST_ROW
    variable: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Definition:
    """`variable AS condition` of DEFINE."""

    variable: str
    condition: Expr
    span: Span | None = field(default=None, compare=False)
