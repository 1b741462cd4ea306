"""Queries: SELECT, FROM and the other clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from sqlglot.expressions import Expr, Star

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
    """`*`, or `source.*`, without the `excluded` columns."""

    source: str | None = None
    span: Span | None = field(default=None, compare=False)
    excluded: tuple[str, ...] = ()


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
class VersionAsOf:
    """`FOR VERSION AS OF number | 'name'` or `FOR TIMESTAMP AS OF 'time'`: which snapshot of a
    table of Iceberg is read. `FOR SYSTEM_TIME AS OF PROCTIME()`: the rows of the moment at which a
    row of the other side of a join arrives."""

    version: str | None = None
    """The number of a snapshot, or the name of a branch or a tag."""
    timestamp: str | None = None
    now: bool = field(default=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        return f" as of {self.timestamp or self.version}"


@dataclass(frozen=True)
class SourceRef:
    """A stream, table, view or common table expression in FROM."""

    name: str
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    start: StartPosition | None = None
    columns: tuple[str, ...] = ()
    """Names that replace those of the first columns: `t AS a (x, y)`."""
    version: VersionAsOf | None = None


@dataclass(frozen=True)
class Subquery:
    """`[LATERAL] (query) [AS] alias [(columns)]` in FROM."""

    query: Query
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    by_clock: bool = False
    """Whether it uses processing time, as PROCTIME() declares."""
    view: str | None = field(default=None, compare=False)
    """The view that the query is the text of: its nodes then stand in another text."""
    columns: tuple[str, ...] = ()
    lateral: bool = False
    """Whether the query may refer to the relations before it."""


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
class TableFunction:
    """`[LATERAL] f(..) [WITH ORDINALITY] [AS] alias [(columns)]` in FROM, where a call may always
    refer to the relations before it."""

    call: Expression
    """sqlglot's Anonymous."""
    alias: str | None = None
    columns: tuple[str, ...] = ()
    ordinality: bool = False
    """Whether the number of each row, from 1, is a last column."""
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
    CROSS = "CROSS"
    SEMI = "SEMI"
    """The left rows that have a partner, once each and without it."""
    ANTI = "ANTI"
    """The left rows that have none."""


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
    """One join of FROM, or a comma (a CROSS join); `left` is the preceding part, so n joins nest to
    the left; a join on the right was written in parentheses."""

    left: Relation
    right: Relation
    type: JoinType
    on: Expression | None
    """None where the sides share the columns of `using`, or all of one name (`natural`), and in a
    CROSS join."""
    within: Within | None = None
    span: Span | None = field(default=None, compare=False)
    using: tuple[str, ...] = ()
    natural: bool = False
    asof: bool = False
    """Whether a left row has at most one partner, the closest by the inequality of ON."""


Side = SourceRef | Subquery | ValueRows | WindowFunction | TableFunction | MatchRecognize
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
    """Whether a query gives every change, of each window its last result, or, a materialized view,
    the rows that can no longer change."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"
    ON_WINDOW_CLOSE = "ON WINDOW CLOSE"


@dataclass(frozen=True)
class AsOf:
    """`AS OF EPOCH n` or `AS OF TIMESTAMP time`: as of when a SELECT reads views."""

    epoch: int | None = None
    time: Expression | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CommonTable:
    """`name [(columns)] AS (query)` of WITH: a named query for its enclosing query."""

    name: str
    query: Query
    span: Span | None = field(default=None, compare=False)
    columns: tuple[str, ...] = ()


class SetOperator(Enum):
    """How the rows of a SELECT are put together with those before it."""

    UNION_ALL = "UNION ALL"
    UNION = "UNION"
    EXCEPT = "EXCEPT"
    EXCEPT_ALL = "EXCEPT ALL"
    INTERSECT = "INTERSECT"
    INTERSECT_ALL = "INTERSECT ALL"


@dataclass(frozen=True)
class Matched:
    """How a set operation finds the columns that belong together: by their names."""

    columns: tuple[str, ...] = ()
    """Of CORRESPONDING BY; empty: all that both sides have."""
    every: bool = False
    """BY NAME: also those that one side has; the other one has NULL."""


@dataclass(frozen=True)
class Query:
    """A SELECT; empty `group_by`/`partition_by` represent a missing clause. `union` are the queries
    of UNION and the other `set_operator`s, to be combined from left to right, but INTERSECT first;
    `common_tables`, `order_by`, `emit`, `limit` and `offset` apply to all together. One of `union`
    with such clauses, or a `union` of its own, was written in parentheses; where the first one was,
    it is the Subquery of a `SELECT *`. VALUES is `SELECT *` from ValueRows."""

    items: tuple[SelectItem, ...]
    relation: Relation
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    """A star alone is GROUP BY ALL: the items without an aggregate."""
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
    matched: Matched | None = None
    """The same: by which columns; None: by their places."""
    recursive: bool = False
    """Whether a query of `common_tables` may name itself and later ones."""
    distinct_on: tuple[Expression, ...] = ()
    grouping_sets: tuple[tuple[Expression, ...], ...] | None = None
    """What GROUPING SETS, ROLLUP and CUBE come to; `group_by` then holds each key once."""
    with_ties: bool = False
    """Whether `limit` lets rows equal to the last one through: FETCH .. WITH TIES."""

    @property
    def groups_by_all(self) -> bool:
        return len(self.group_by) == 1 and isinstance(self.group_by[0], Star)
