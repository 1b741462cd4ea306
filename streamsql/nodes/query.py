"""Queries: SELECT, FROM and the other clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from sqlglot.expressions import Expr

from streamsql.errors import Span
from streamsql.nodes.match import AfterMatch, Definition, Pattern
from streamsql.schema import WindowType

Expression = Expr
"""A scalar expression, as tabled above."""


@dataclass(frozen=True)
class Duration:
    """`30 SECONDS`; `unit` is MILLISECOND, SECOND, MINUTE, HOUR or DAY."""

    amount: int
    unit: str

    UNITS_MS: ClassVar[dict[str, int]] = {
        "MILLISECOND": 1,
        "SECOND": 1_000,
        "MINUTE": 60_000,
        "HOUR": 3_600_000,
        "DAY": 86_400_000,
    }

    @property
    def ms(self) -> int:
        """Its length in milliseconds."""
        return self.amount * self.UNITS_MS[self.unit]


@dataclass(frozen=True)
class Property:
    """One entry of WITH (..); the name in upper case."""

    name: str
    value: str | int | float | bool
    span: Span | None = field(default=None, compare=False)


Properties = tuple[Property, ...]


@dataclass(frozen=True)
class SelectExpression:
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SelectAll:
    """`*`, or `source.*`."""

    source: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SelectStruct:
    """`expression->*`."""

    expression: Expression
    span: Span | None = field(default=None, compare=False)


SelectItem = SelectExpression | SelectAll | SelectStruct


class Start(Enum):
    """Where reading of a source begins."""

    BEGINNING = "BEGINNING"
    LATEST = "LATEST"
    TIMESTAMP = "TIMESTAMP"
    OFFSETS = "OFFSETS"


@dataclass(frozen=True)
class StartPosition:
    """FROM BEGINNING | LATEST | TIMESTAMP 'text' | OFFSETS ('partition:offset', ..)."""

    start: Start
    timestamp: str | None = None
    offsets: tuple[tuple[int, int], ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SourceRef:
    """A stream, table, view or common table expression in FROM."""

    name: str
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    start: StartPosition | None = None


@dataclass(frozen=True)
class Subquery:
    """`(query) [AS] alias` in FROM."""

    query: Query
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    by_clock: bool = False
    """Whether it uses processing time, as PROCTIME() declares."""
    view: str | None = field(default=None, compare=False)
    """The view that the query is the text of: its nodes then stand in another text."""


@dataclass(frozen=True)
class ValueRows:
    """`(VALUES (..), ..) [AS] alias [(columns)]` in FROM. One row without columns represents a
    missing FROM."""

    rows: tuple[tuple[Expression, ...], ...] = ((),)
    alias: str | None = None
    columns: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class WindowFunction:
    """`TUMBLE | HOP | CUMULATE | SESSION (TABLE source, DESCRIPTOR(time), ..) [AS] alias` in FROM:
    a source's rows in each of their windows, with the columns of WINDOW_COLUMNS."""

    source: SourceRef | Subquery
    window: Window
    time: str | None
    """The column that the windows go by; None: the clock, PROCTIME()."""
    partition_by: tuple[Expression, ...] = ()
    """Of a SESSION: the columns that identify a session."""
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class MatchRecognize:
    """`source MATCH_RECOGNIZE (..) [AS] alias` in FROM: a row for each match."""

    source: SourceRef | Subquery
    measures: tuple[SelectExpression, ...]
    pattern: Pattern
    definitions: tuple[Definition, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[Expression, ...] = ()
    """sqlglot's Ordered, each."""
    grace: Duration | None = None
    """How long a row waits for earlier ones."""
    all_rows: bool = False
    """Whether each row of a match is one of the result."""
    after: AfterMatch = AfterMatch()
    within: Duration | None = None
    subset: tuple[str, tuple[str, ...]] | None = None
    """A name for several variables."""
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)


class JoinType(Enum):
    """Of which side rows without a partner are kept."""

    INNER = "INNER"
    LEFT = "LEFT OUTER"
    RIGHT = "RIGHT OUTER"
    FULL = "FULL OUTER"


@dataclass(frozen=True)
class Within:
    """`WITHIN size` or `WITHIN (before, after)`, with its GRACE PERIOD."""

    before: Duration
    after: Duration
    grace: Duration | None = None
    implied: bool = False
    """Whether it is not written there, but follows from STATE_TTL."""


@dataclass(frozen=True)
class Join:
    """One join of FROM; `left` is the preceding part, so n joins nest to the left."""

    left: Relation
    right: Side
    type: JoinType
    on: Expression | None
    """None where the sides share the columns of `using`."""
    within: Within | None = None
    span: Span | None = field(default=None, compare=False)
    using: tuple[str, ...] = ()


Side = SourceRef | Subquery | ValueRows | WindowFunction | MatchRecognize
"""One of the relations that FROM joins."""
Relation = Side | Join


WINDOW_COLUMNS = {"WINDOW_START": "WINDOWSTART", "WINDOW_END": "WINDOWEND"}
"""Columns that a window function adds to its rows, as TIMESTAMPs, and their BIGINT equivalents in a
query with a WINDOW clause."""


@dataclass(frozen=True)
class Window:
    """WINDOW TUMBLING | HOPPING | CUMULATING | SESSION; `size` is the gap of a session, and that of
    the last cumulating window of a start, which they reach in steps of `advance`."""

    type: WindowType
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None
    span: Span | None = field(default=None, compare=False)


class Emit(Enum):
    """Whether a query gives every change, or of each window its last result."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True)
class CommonTable:
    """`name AS (query)` of WITH: a named query for its enclosing query."""

    name: str
    query: Query
    span: Span | None = field(default=None, compare=False)


class SetOperator(Enum):
    """How the rows of a SELECT are put together with those before it."""

    UNION_ALL = "UNION ALL"
    UNION = "UNION"
    EXCEPT = "EXCEPT"
    INTERSECT = "INTERSECT"


@dataclass(frozen=True)
class Query:
    """A SELECT; empty `group_by`/`partition_by` represent a missing clause. `union` are the
    SELECTs of UNION and the other `set_operator`s (without clauses after QUALIFY); `common_tables`,
    `order_by`, `emit`, `limit` and `offset` apply to all together."""

    items: tuple[SelectItem, ...]
    relation: Relation
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    span: Span | None = field(default=None, compare=False)
    distinct: bool = False
    union: tuple[Query, ...] = ()
    common_tables: tuple[CommonTable, ...] = ()
    order_by: tuple[Expression, ...] = ()
    """sqlglot's Ordered, each."""
    qualify: Expression | None = None
    offset: int | None = None
    set_operator: SetOperator = SetOperator.UNION_ALL
    """Of one of a `union`: how it is added."""
