"""The logical plan: one frozen dataclass an operator, each knowing its schema, inputs and kind.

Expressions inside a plan are bound and typed: every column is a `Column` with no table, named as in
the input's schema, and every node has its SQL type in `node.type`. No schema has system columns:
event time, whether the value is null (a tombstone), and a record's headers where it causes one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property

from streamsql.catalog import Source
from streamsql.nodes import ConstraintDefinition, Emit, Expression, JoinType, StartPosition, Window
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.join_windows import JoinWindow
from streamsql.schema import (
    ROWTIME,
    WINDOW_BOUNDS,
    Column,
    Kind,
    Namespace,
    Schema,
    TimestampColumn,
)
from streamsql.types import BIGINT, type_of


@dataclass(frozen=True)
class Named:
    """An expression and the column it makes."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class LogicalPlan:
    """The base of all operators."""

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[LogicalPlan, ...]:
        """The operators it reads: those of its fields that are plans."""
        values = (getattr(self, f.name) for f in fields(self))
        return tuple(value for value in values if isinstance(value, LogicalPlan))

    @property
    def kind(self) -> Kind:
        """STREAM: rows are events; TABLE: rows are upserts and deletes by key."""
        return self.inputs[0].kind


@dataclass(frozen=True)
class Scan(LogicalPlan):
    """The records of a source's topic, decoded; unreadable ones go to the processing log."""

    source: Source
    alias: str
    start: StartPosition | None = None  # of reading, instead of what auto.offset.reset says
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over its schema

    @cached_property
    def schema(self) -> Schema:
        """The source's columns, then the pseudo columns and, if windowed, the window's bounds."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind


@dataclass(frozen=True)
class Derived(LogicalPlan):
    """The result of a query as one of the sources of another.

    `source` is what it looks like: its topic is none, but has what results inherit.
    """

    input: LogicalPlan
    source: Source
    alias: str
    by_clock: bool = False  # whether the time of its rows is when they are processed

    @cached_property
    def schema(self) -> Schema:
        """As that of a Scan; where it stands in for a record, a row has that record's place."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind


Leaf = Scan | Derived
"""What stands in FROM."""


@dataclass(frozen=True)
class Union(LogicalPlan):
    """The rows of two streams whose columns are the same."""

    left: LogicalPlan
    right: LogicalPlan

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class Distinct(LogicalPlan):
    """The first of a stream's rows with the same values; with a window, the first in each."""

    input: LogicalPlan
    window: Window | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Filter(LogicalPlan):
    """Rows for which the condition is true. On a TABLE the others become tombstones."""

    input: LogicalPlan
    condition: Expression
    clause: str = "WHERE"

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Project(LogicalPlan):
    """The columns of the result: the key's and the value's."""

    input: LogicalPlan
    key: tuple[Named, ...]
    value: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema((*_columns(self.key, Namespace.KEY), *_columns(self.value, Namespace.VALUE)))


@dataclass(frozen=True)
class FlatMap(LogicalPlan):
    """Table functions, zipped: as many rows as the longest result, short ones padded with null.

    Adds a VALUE column per function to the input's; each expression is a typed call.
    """

    input: LogicalPlan
    functions: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.input.schema.columns, *_columns(self.functions, Namespace.VALUE)))


@dataclass(frozen=True)
class Repartition(LogicalPlan):
    """PARTITION BY: new key columns, the old ones become value columns; none: a keyless stream."""

    input: LogicalPlan
    keys: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        """New keys, then all columns of the input as value columns (a key that is one of them
        stays at its new place only)."""
        names = {k.name for k in self.keys}
        old = self.input.schema
        rest = [c for c in (*old.value, *old.headers, *old.key) if c.name not in names]
        return Schema(
            (
                *_columns(self.keys, Namespace.KEY),
                *(Column(c.name, c.type, Namespace.VALUE) for c in rest),
            )
        )


class JoinKind(Enum):
    """What is joined: decides which rows meet and what the result is keyed by."""

    STREAM_STREAM = "stream-stream"
    STREAM_TABLE = "stream-table"
    TABLE_TABLE = "table-table"
    FOREIGN_KEY = "foreign-key"
    ROWS = "row-by-row"
    """All rows that there are, whatever their times and keys: in queries that end."""


@dataclass(frozen=True)
class Qualify(LogicalPlan):
    """A side of a join: every column under its source's alias, `ALIAS.COLUMN`.

    So are the pseudo columns and window bounds; the names can clash with no other side's.
    """

    input: LogicalPlan
    alias: str

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(replace(c, name=f"{self.alias}.{c.name}") for c in self.input.schema))


@dataclass(frozen=True)
class Join(LogicalPlan):
    """Rows of two inputs that agree: left_on, over the left's columns, equals right_on, over the
    right's, which has the same type. Both sides' columns are value columns of the result.

    `key` names the key column, which holds the value that both sides agree on; a FOREIGN_KEY join
    has the left side's key instead, and `key` is empty. `windowed`: the keys of both are windowed;
    rows must agree on their windows, too, and the result has the left row's. `condition`, over both
    sides' columns, is what rows of an outer join have to meet besides; an inner one has a Filter.
    """

    left: LogicalPlan
    right: LogicalPlan
    join_kind: JoinKind
    type: JoinType
    left_on: Expression
    right_on: Expression
    key: str = ""
    window: JoinWindow | None = None
    windowed: bool = False
    condition: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        """The key, the columns of both sides, the row's time (the later one of both)."""
        columns = (*self.left.schema, *self.right.schema)
        if self.join_kind is JoinKind.FOREIGN_KEY:
            keys = self.left.schema.key
            rest = [c for c in columns if c not in keys]
        else:
            keys = (Column(self.key, type_of(self.left_on), Namespace.KEY),)
            rest = list(columns)
        values = (Column(c.name, c.type, Namespace.VALUE) for c in rest if c != ROWTIME)
        return Schema((*keys, *values, ROWTIME))

    @property
    def kind(self) -> Kind:
        return Kind.STREAM if self.join_kind is JoinKind.ROWS else self.left.kind


@dataclass(frozen=True)
class Aggregate(LogicalPlan):
    """GROUP BY, windowed or not: the keys, then a column per aggregate call.

    `keys` empty: one group of all rows (push queries only). Rows with a null key are excluded.
    """

    input: LogicalPlan
    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    window: Window | None = None
    emit: Emit = Emit.CHANGES

    @cached_property
    def schema(self) -> Schema:
        bounds = WINDOW_BOUNDS if self.window else ()
        return Schema(
            (
                *_columns(self.keys, Namespace.KEY),
                *_columns(self.aggregates, Namespace.VALUE),
                ROWTIME,
                *bounds,
            )
        )

    @property
    def kind(self) -> Kind:
        return Kind.TABLE


@dataclass(frozen=True)
class Ordering:
    """An expression of ORDER BY; nulls come last either way."""

    expression: Expression
    descending: bool = False


class Ranks(Enum):
    """How the rows of a group are counted that are equal in their order."""

    ROW_NUMBER = "ROW_NUMBER"
    """Each by itself."""
    RANK = "RANK"
    """They are equal, and the next one is counted as if they were not."""
    DENSE_RANK = "DENSE_RANK"
    """They are equal, and the next one is counted as the next."""


@dataclass(frozen=True)
class TopN(LogicalPlan):
    """The rows of each group that rank up to `count`, keyed by the group and their row `number`;
    rows of a stream that are equal in the order have numbers as they came. The column `rank` holds
    what counts, unless that is the number."""

    input: LogicalPlan
    keys: tuple[Named, ...]
    order: tuple[Ordering, ...]
    count: int
    number: str
    ranks: Ranks = Ranks.ROW_NUMBER
    rank: str = ""

    @cached_property
    def schema(self) -> Schema:
        """The key, the rank, then the input's columns as value columns."""
        values = (Column(c.name, c.type, Namespace.VALUE) for c in self.input.schema)
        number = Column(self.number, BIGINT, Namespace.KEY)
        rank = (Column(self.rank, BIGINT, Namespace.VALUE),) if self.rank else ()
        return Schema((*_columns(self.keys, Namespace.KEY), number, *rank, *values))

    @property
    def kind(self) -> Kind:
        return Kind.TABLE


@dataclass(frozen=True)
class Limit(LogicalPlan):
    """The first rows of a push query, in order of arrival."""

    input: LogicalPlan
    count: int

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Sink(LogicalPlan):
    """Rows written to the topic of `target`; `timestamp` names the column that gives their time."""

    input: LogicalPlan
    target: Source
    timestamp: TimestampColumn | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over the input's

    @property
    def schema(self) -> Schema:
        return self.target.schema


class Mode(Enum):
    """How a caught-up query runs."""

    REAL_TIME = "real-time"
    MICRO_BATCH = "micro-batch"


@dataclass(frozen=True)
class ModeDecision:
    """The mode and, in words for EXPLAIN, why."""

    mode: Mode
    reason: str


@dataclass(frozen=True)
class QueryPlan:
    """A planned query: `root` is a Sink or FileSink, of a push query a Project or Limit."""

    root: LogicalPlan
    mode: ModeDecision
    emit: Emit
    reads: tuple[str, ...]
    """Names of the sources it reads."""
    query_id: str | None = None
    columns: tuple[str, ...] = ()
    """The names of the result's columns in the order of the SELECT (a schema has keys first)."""
    starts: Mapping[str, StartPosition] = field(default_factory=dict)
    """Where reading begins, by topics, of those for which the query says so."""
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    unoptimized: LogicalPlan | None = None
    """The plan before the rules, for EXPLAIN VERBOSE."""
    partitions: int | None = None  # of its state, where a number is told

    @property
    def schema(self) -> Schema:
        return self.root.schema


def _columns(items: tuple[Named, ...], namespace: Namespace) -> tuple[Column, ...]:
    return tuple(Column(i.name, type_of(i.expression), namespace) for i in items)
