"""Match: MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from streamsql.nodes import AfterMatch, Expression, Pattern
from streamsql.parser.generate.patterns import pattern
from streamsql.planner.operators.aggregate import micro_batch_only
from streamsql.planner.operators.edges import Transformation, over
from streamsql.planner.operators.items import Named
from streamsql.planner.operators.lineage import Lineage, edges_of
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore, reading
from streamsql.planner.operators.over import waiting_rows, waits_for_times
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.windows import grace_text, span_text
from streamsql.schema import ROWTIME, Column, Kind, Namespace, Schema
from streamsql.types import quote, type_of


@dataclass(frozen=True)
class Place:
    """One of the rows of a variable: `offset` rows of the variable from the first, or from the
    last; then `back` rows back in the partition, of any variable."""

    first: bool = False
    offset: int = 0
    back: int = 0


@dataclass(frozen=True)
class MatchColumn:
    """A value read from a match, as a column: an expression's value in the row at a place among
    those of a variable (None: of all variables); or, without a place, an aggregate over all of
    them."""

    name: str
    expression: Expression
    variable: str | None
    place: Place | None


@dataclass(frozen=True)
class Condition:
    """The condition of a variable's rows, over columns of `Match.read`."""

    variable: str
    expression: Expression


@dataclass(frozen=True)
class Match(Operator):
    """A row for each match of a pattern among the rows of a key, in time order.

    `read` are the columns that conditions read, of the rows so far and the current one; `columns`
    those of the result, of all rows of the match. `within_ms` is the exclusive bound of the time
    between the first and the last row (None: unbounded). `grace_ms`: as of Over.
    """

    input: Operator
    keys: tuple[Named, ...]
    pattern: Pattern
    conditions: tuple[Condition, ...]
    read: tuple[MatchColumn, ...]
    columns: tuple[MatchColumn, ...]
    after: AfterMatch
    within_ms: int | None = None
    grace_ms: int | None = None

    kind = Kind.STREAM
    deletions = Deletions.PASSED_ON
    knows_cause = False
    needs_batch = None
    differs_in_batch = "MATCH_RECOGNIZE drops late rows, and a batch reads all rows in order"

    @cached_property
    def schema(self) -> Schema:
        """The keys, the values read from the match, the time of its last row."""
        keys = (Column(k.name, type_of(k.expression), Namespace.KEY) for k in self.keys)
        made = (Column(c.name, type_of(c.expression), Namespace.VALUE) for c in self.columns)
        return Schema((*keys, *made, ROWTIME))

    @property
    def time_decides(self) -> bool:
        return self.within_ms is not None

    @property
    def decisive(self) -> tuple[MatchColumn, ...]:
        """The columns that the stored state depends on: result columns that are plain copies of a
        stored column are not among them."""
        return tuple(
            column
            for column in self.all_columns
            if column in self.read
            or column.place is None
            or not isinstance(column.expression, exp.Column)
        )

    @property
    def all_columns(self) -> tuple[MatchColumn, ...]:
        """Those of conditions and of the result, each once."""
        return tuple({column.name: column for column in (*self.read, *self.columns)}.values())

    @property
    def expressions(self) -> tuple[Expression, ...]:
        keys = (key.expression for key in self.keys)
        return (*keys, *(column.expression for column in self.all_columns))

    @property
    def line(self) -> str:
        keys = keys_text(self)
        of = f" of each {keys}" if keys else ""
        grace = grace_text(self.grace_ms)
        return f"Match{of}{grace}: {match_text(self)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        time = found.column(ROWTIME.name)
        made = {c.name: edges_of(c.expression, found.columns) for c in self.columns}
        columns = {ROWTIME.name: time, **found.made(self.keys), **made}
        read = found.influences_of(Transformation.FILTER, (c.expression for c in self.read))
        matched = replace(found, columns=columns)
        return matched.influenced(found.grouped(self.keys), over(Transformation.SORT, time), read)

    def stores(self, root: Operator) -> Iterable[StateStore]:
        keys = keys_text(self)
        growth = "grows with the number of distinct keys, and with the rows of open matches"
        if self.within_ms is not None:
            kept = span_text(self.within_ms + (self.grace_ms or 0))
            growth = f"a row expires {kept} after its time"
            if any(c.place is not None and c.place.back for c in self.all_columns):
                growth += ", except those that PREV may need"
        yield StateStore("rows of open matches", keys, growth)
        yield from waiting_rows(self.grace_ms, keys)

    def identity(self, root: Operator) -> Iterable[str]:
        yield f"matches of {keys_text(self)} by time, {self.grace_ms}: {match_text(self)}"
        yield from map(column_text, self.decisive)

    @property
    def obstacles(self) -> Iterable[str]:
        yield from waits_for_times("MATCH_RECOGNIZE", self.grace_ms)
        yield from micro_batch_only(c.expression for c in self.all_columns if c.place is None)

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at.behind())
        keys = (key.expression for key in self.keys)
        types = types_of((*keys, *(column.expression for column in self.decisive)))
        read = (c.expression for c in self.all_columns)
        kept = {e.name: (at.text(e), type_of(e)) for e in read if isinstance(e, exp.Column)}
        of = ", ".join(dict.fromkeys(at.text(c.expression) for c in self.decisive))
        partition = keys_text(self, at.text) or "nothing"
        text = f"{match_text(self)} PARTITION BY {partition}, of {of or 'no column'}"
        yield at.part("MATCH_RECOGNIZE", "", text, types, columns=kept)
        if self.grace_ms is not None:
            grace = span_text(self.grace_ms)
            yield at.part("GRACE PERIOD of MATCH_RECOGNIZE", "", grace)
        at.adds(at.stand_for(self.keys))

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return reading(keys, (key.expression for key in self.keys))

    def keys_made(self, keys: Keys) -> Keys:
        return {}


Text = Callable[[Expression], str]


def match_text(node: Match) -> str:
    """The pattern: `PATTERN (A B+) WITHIN 5 SECONDS DEFINE B AS B.X > A.X AFTER MATCH ..`."""
    within = "" if node.within_ms is None else f" WITHIN {span_text(node.within_ms)}"
    conditions = ", ".join(
        f"{quote(c.variable)} AS {expression_text(c.expression)}" for c in node.conditions
    )
    after = node.after.to.value
    if node.after.variable is not None:
        after += f" {quote(node.after.variable)}"
    defined = f" DEFINE {conditions}" if conditions else ""
    return f"PATTERN ({pattern(node.pattern)}){within}{defined} AFTER MATCH SKIP {after}"


def keys_text(node: Match, text: Text = expression_text) -> str:
    return ", ".join(text(key.expression) for key in node.keys)


def column_text(column: MatchColumn) -> str:
    """A column of a match and its exact meaning."""
    of = "all rows" if column.variable is None else quote(column.variable)
    if column.place is None:
        return f"{expression_text(column.expression)} of {of}"
    place = column.place
    return f"{expression_text(column.expression)} of {of} {place.first, place.offset, place.back}"
