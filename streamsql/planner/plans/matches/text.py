"""Match as EXPLAIN and messages show it."""

from __future__ import annotations

from collections.abc import Callable

from streamsql.nodes import Expression
from streamsql.parser.generate.patterns import pattern
from streamsql.planner.plans.matches.match import Match, MatchColumn
from streamsql.planner.plans.windows import duration, words
from streamsql.planner.scopes.text import expression_text
from streamsql.types import quote

Text = Callable[[Expression], str]


def match_text(node: Match) -> str:
    """What a match is: `PATTERN (A B+) WITHIN 5 SECONDS DEFINE B AS B.X > A.X AFTER MATCH ..`."""
    within = "" if node.within_ms is None else f" WITHIN {words(duration(node.within_ms))}"
    conditions = ", ".join(
        f"{quote(c.variable)} AS {expression_text(c.expression)}" for c in node.conditions
    )
    after = node.after.to.value
    if node.after.variable is not None:
        after += f" {quote(node.after.variable)}"
    defined = f" DEFINE {conditions}" if conditions else ""
    return f"PATTERN ({pattern(node.pattern)}){within}{defined} AFTER MATCH SKIP {after}"


def keys_text(node: Match, text: Text = expression_text) -> str:
    """The columns by which rows are partitioned."""
    return ", ".join(text(key.expression) for key in node.keys)


def column_text(column: MatchColumn) -> str:
    """A column of a match and what exactly it is of."""
    of = "all rows" if column.variable is None else quote(column.variable)
    if column.place is None:
        return f"{expression_text(column.expression)} of {of}"
    place = column.place
    return f"{expression_text(column.expression)} of {of} {place.first, place.offset, place.back}"
