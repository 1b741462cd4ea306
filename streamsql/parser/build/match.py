"""Builds MATCH_RECOGNIZE: its clauses, and the pattern."""

from __future__ import annotations

from dataclasses import replace

from lark import Token

from streamsql.errors import ParseError, Span
from streamsql.nodes import (
    AfterMatch,
    Definition,
    Duration,
    Expression,
    MatchRecognize,
    Pattern,
    PatternAlternatives,
    PatternAnchor,
    PatternExclusion,
    PatternPermutation,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    SelectExpression,
    Side,
    SkipTo,
    SourceRef,
    Subquery,
)
from streamsql.parser.build.items import with_tokens
from streamsql.parser.build.windows import fixed_duration

Bounds = tuple[int, int | None, bool]
"""How often at least and at most (None: no bound), and whether as seldom as possible."""
Subset = tuple[str, tuple[str, ...]]


class MatchBuilder:
    """Makes MATCH_RECOGNIZE of the grammar's rules."""

    def match_recognize(
        self, span: Span, source: Side, match: MatchRecognize, alias: str | None
    ) -> MatchRecognize:
        assert isinstance(source, SourceRef | Subquery)
        return replace(match, source=source, alias=alias, span=span)

    def recognize(
        self,
        span: Span,
        partition_by: list[Expression] | None,
        order: Expression | None,
        grace: Duration | None,
        measures: tuple[SelectExpression, ...],
        all_rows: bool | None,
        after: AfterMatch | None,
        pattern: tuple[Pattern, Duration | None],
        subset: Subset | None,
        definitions: tuple[Definition, ...],
    ) -> MatchRecognize:
        parts, within = pattern
        return MatchRecognize(
            SourceRef(""),
            measures,
            parts,
            definitions,
            tuple(partition_by or ()),
            tuple(order.expressions) if order is not None else (),
            grace,
            bool(all_rows),
            after or AfterMatch(),
            within,
            subset,
            span=span,
        )

    def measures(self, span: Span, *measures: SelectExpression) -> tuple[SelectExpression, ...]:
        return measures

    def measure(self, span: Span, value: Expression, name: str) -> SelectExpression:
        return SelectExpression(value, name, span)

    def one_row(self, span: Span) -> bool:
        return False

    def all_rows(self, span: Span) -> bool:
        return True

    def skip_past(self, span: Span, last: str) -> AfterMatch:
        if last.upper() != "LAST":
            raise _misspelt_skip(span)
        return AfterMatch(span=span)

    def skip_to(self, span: Span, which: str | None, name: str) -> AfterMatch:
        if which is None:
            return AfterMatch(SkipTo.LAST, name, span)
        if which.upper() == "NEXT" and name == "ROW":
            return AfterMatch(SkipTo.NEXT_ROW, span=span)
        if which.upper() not in ("FIRST", "LAST"):
            raise _misspelt_skip(span)
        return AfterMatch(SkipTo[which.upper()], name, span)

    def subset(self, span: Span, name: str, names: tuple[str, ...]) -> Subset:
        return name, names

    def definitions(self, span: Span, *definitions: Definition) -> tuple[Definition, ...]:
        return definitions

    def definition(self, span: Span, name: str, condition: Expression) -> Definition:
        return Definition(name, condition, span)

    # -- the pattern -----------------------------------------------------------------------------

    def pattern(
        self, span: Span, pattern: Pattern, within: Duration | None
    ) -> tuple[Pattern, Duration | None]:
        return pattern, within

    def pattern_within(self, span: Span, length: Expression) -> Duration:
        return fixed_duration(length, "the time of a match", span)

    def alternatives(self, span: Span, *parts: Pattern) -> Pattern:
        return parts[0] if len(parts) == 1 else PatternAlternatives(parts)

    def pattern_sequence(self, span: Span, *parts: Pattern) -> Pattern:
        return parts[0] if len(parts) == 1 else PatternSequence(parts)

    def repeated(self, span: Span, part: Pattern, bounds: Bounds | None) -> Pattern:
        return part if bounds is None else PatternRepeat(part, *bounds, span)

    def pattern_variable(self, span: Span, name: str) -> Pattern:
        return PatternVariable(name, span)

    def pattern_group(self, span: Span, part: Pattern) -> Pattern:
        return part

    def permuted(self, span: Span, *names: str) -> Pattern:
        return PatternPermutation(tuple(PatternVariable(name, span) for name in names), span)

    def excluded(self, span: Span, part: Pattern) -> Pattern:
        return PatternExclusion(part, span)

    @with_tokens
    def anchor(self, span: Span, mark: Token) -> Pattern:
        return PatternAnchor(str(mark), span)

    def any_number(self, span: Span, reluctant: bool | None) -> Bounds:
        return 0, None, bool(reluctant)

    def at_least_one(self, span: Span, reluctant: bool | None) -> Bounds:
        return 1, None, bool(reluctant)

    def at_most_one(self, span: Span, reluctant: bool | None) -> Bounds:
        return 0, 1, bool(reluctant)

    def exactly(self, span: Span, number: str, reluctant: bool | None) -> Bounds:
        return self.from_to(span, number, number, reluctant)

    def from_to(
        self, span: Span, least: str | None, most: str | None, reluctant: bool | None
    ) -> Bounds:
        first, last = int(least or 0), None if most is None else int(most)
        if last is not None and (last < first or last == 0):
            raise ParseError(
                "a quantifier has a lower bound and an upper bound that is not less, and greater "
                "than 0",
                hint="Write {2}, {2,5}, {2,} or {,5}.",
                span=span,
            )
        return first, last, bool(reluctant)

    def reluctant(self, span: Span) -> bool:
        return True


def _misspelt_skip(span: Span) -> ParseError:
    return ParseError(
        "AFTER MATCH SKIP is not written like this",
        hint="Write SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO FIRST a or SKIP TO LAST a.",
        span=span,
    )
