"""The PATTERN of MATCH_RECOGNIZE: its variables, and the supported patterns."""

from __future__ import annotations

from collections.abc import Iterator

from streamsql.errors import PlanError, UnsupportedError, did_you_mean
from streamsql.nodes import (
    AfterMatch,
    MatchRecognize,
    Pattern,
    PatternAlternatives,
    PatternAnchor,
    PatternExclusion,
    PatternPermutation,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    SkipTo,
)
from streamsql.types import quote

MAX_STEPS = 1_000
"""The maximum length of a pattern with its quantifiers expanded."""


def check_pattern(match: MatchRecognize) -> tuple[str, ...]:
    """The variables of the pattern, in order; a StreamSQLError for unsupported ones."""
    pattern = match.pattern
    for part in _parts(pattern):
        _check_known(part)
    if _least(pattern) == 0:
        raise UnsupportedError(
            "a pattern that matches no rows is not supported",
            hint="Have at least one variable that is neither optional nor repeated by * in it.",
            span=match.span,
        )
    if _steps(pattern) > MAX_STEPS:
        raise PlanError(
            f"The pattern has more than {MAX_STEPS} steps, as its bounds are written out.",
            hint="Use smaller bounds, or none: A{3,}.",
            span=match.span,
        )
    found = (part.name for part in _parts(pattern) if isinstance(part, PatternVariable))
    variables = tuple(dict.fromkeys(found))
    _check_skip(match.after, pattern, variables)
    return variables


def _check_known(part: Pattern) -> None:
    if isinstance(part, PatternPermutation):
        raise UnsupportedError(
            "PERMUTE is not supported in a PATTERN",
            hint="Write the orders that are meant: (A B | B A).",
            span=part.span,
        )
    if isinstance(part, PatternExclusion):
        raise UnsupportedError(
            "{- -} is not supported in a PATTERN",
            hint="It leaves rows out where each row of a match is one of the result; with ONE ROW "
            "PER MATCH the part can stand there without it.",
            span=part.span,
        )
    if isinstance(part, PatternAnchor):
        raise UnsupportedError(
            f"{part.mark} is not supported in a PATTERN",
            hint="The rows of a stream have no end, and its first rows may be gone.",
            span=part.span,
        )


def _check_skip(after: AfterMatch, pattern: Pattern, variables: tuple[str, ...]) -> None:
    name = after.variable
    if name is None:
        return
    if name not in variables:
        raise PlanError(
            f"AFTER MATCH skips to {quote(name)}, which is not a variable of the PATTERN.",
            hint=did_you_mean(name, variables) or f"Its variables are {', '.join(variables)}.",
            span=after.span,
        )
    if not _always(name, pattern):
        raise UnsupportedError(
            f"a match may have no row {quote(name)}, to which AFTER MATCH skips",
            hint="Skip to a variable that is in each match, PAST LAST ROW or TO NEXT ROW.",
            span=after.span,
        )
    firsts = _firsts(pattern)
    only = after.to is SkipTo.FIRST or _most(name, pattern) == 1
    if name in firsts and only:
        raise PlanError(
            f"The next match would begin with the row {quote(name)} with which this one began.",
            hint="AFTER MATCH SKIP TO NEXT ROW begins with the row behind it.",
            span=after.span,
        )


# -- properties of patterns ----------------------------------------------------------------------


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    match pattern:
        case PatternSequence() | PatternAlternatives() | PatternPermutation():
            return pattern.parts
        case PatternRepeat() | PatternExclusion():
            return (pattern.part,)
    return ()


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    yield pattern
    for part in parts_of(pattern):
        yield from _parts(part)


def _least(pattern: Pattern) -> int:
    match pattern:
        case PatternVariable():
            return 1
        case PatternAlternatives():
            return min(map(_least, pattern.parts))
        case PatternRepeat():
            return pattern.least * _least(pattern.part)
    return sum(map(_least, parts_of(pattern)))


def _steps(pattern: Pattern) -> int:
    match pattern:
        case PatternVariable():
            return 1
        case PatternRepeat():
            times = pattern.least + 1 if pattern.most is None else pattern.most
            return max(times, 1) * (_steps(pattern.part) + 1)
    return sum(map(_steps, parts_of(pattern))) + len(parts_of(pattern))


def _always(name: str, pattern: Pattern) -> bool:
    match pattern:
        case PatternVariable():
            return pattern.name == name
        case PatternAlternatives():
            return all(_always(name, part) for part in pattern.parts)
        case PatternRepeat():
            return pattern.least > 0 and _always(name, pattern.part)
    return any(_always(name, part) for part in parts_of(pattern))


def _firsts(pattern: Pattern) -> frozenset[str]:
    """The possible variables of a match's first row."""
    match pattern:
        case PatternVariable():
            return frozenset({pattern.name})
        case PatternSequence():
            found: frozenset[str] = frozenset()
            for part in pattern.parts:
                found |= _firsts(part)
                if _least(part):
                    break
            return found
    return frozenset().union(*map(_firsts, parts_of(pattern)))


def _most(name: str, pattern: Pattern) -> float:
    """The maximum number of rows of the variable in a match."""
    match pattern:
        case PatternVariable():
            return int(pattern.name == name)
        case PatternAlternatives():
            return max(_most(name, part) for part in pattern.parts)
        case PatternRepeat():
            most = _most(name, pattern.part)
            return most and most * (float("inf") if pattern.most is None else pattern.most)
    return sum(_most(name, part) for part in parts_of(pattern))
