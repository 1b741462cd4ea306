"""Relational algebra: what views maintain and pull queries evaluate.

A relation is a bag of rows. Its columns are `Field`s, whose ids are unique within a plan, so that
no operator needs to rename what its inputs have. Expressions are typed sqlglot nodes of standard
SQL: a column is an `exp.Column` without a table, named by the id of its field, and `node.type` is
its SQL type. No expression contains a subquery; decorrelation has made joins of them.

Each operator has one meaning, over whole relations. The bounded lowering evaluates it over what
the relations hold, the incremental lowering keeps its result up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum

from streamsql.nodes import Expression, VersionAsOf
from streamsql.types import SQLType


@dataclass(frozen=True)
class Field:
    """A column of a relation."""

    id: str
    """Unique within a plan."""
    name: str
    """What a user calls it, in messages and in the result."""
    type: SQLType


@dataclass(frozen=True)
class Relation:
    """A node of a plan."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Relation, ...]:
        found: list[Relation] = []
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Relation):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(item for item in value if isinstance(item, Relation))
        return tuple(found)


def relations(root: Relation) -> Iterator[Relation]:
    """The root and everything below it, inputs last."""
    yield root
    for below in root.inputs:
        yield from relations(below)


# -- leaves --------------------------------------------------------------------------------------


class Growth(Enum):
    """How the contents of a source change."""

    APPENDED = "a stream: rows are only added"
    REPLACED = "a table or a view: the latest row of each key"


@dataclass(frozen=True)
class Scan(Relation):
    """A stream, table or view of the catalog, however often the query names it."""

    source: str
    columns: tuple[tuple[str, Field], ...]
    """The source's name of each column that is read, and its field."""
    growth: Growth
    key: tuple[Field, ...] = ()
    """The primary key, where it is among the fields; empty for a stream."""
    version: VersionAsOf | None = None
    """Of a table of Iceberg: the snapshot, if it is not the present one."""
    watermark: tuple[Field, int] | None = None
    """The column and the delay (microseconds) of the watermark below which rows are not taken."""

    @property
    def read_as(self) -> str:
        return self.source + ("" if self.version is None else self.version.text)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for _, field in self.columns)


@dataclass(frozen=True)
class Values(Relation):
    """Rows of constant expressions. One row without fields replaces a missing FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: tuple[Field, ...] = ()

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


# -- a row at a time -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter(Relation):
    """The rows for which the condition is true."""

    input: Relation
    condition: Expression

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class Project(Relation):
    """Each row's expressions. A field that passes through unchanged keeps its id."""

    input: Relation
    items: tuple[tuple[Field, Expression], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for field, _ in self.items)


@dataclass(frozen=True)
class Expand(Relation):
    """Each row once per projection: GROUPING SETS, ROLLUP and CUBE."""

    input: Relation
    projections: tuple[tuple[Expression, ...], ...]
    columns: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


@dataclass(frozen=True)
class Generate(Relation):
    """Each row with each row of a table function of it: unnest, generate_series, windows of TUMBLE
    and HOP."""

    input: Relation
    call: Expression
    columns: tuple[Field, ...]
    """Of the function's rows."""
    outer: bool = False
    """Whether a row for which the function has none is kept, with nulls."""
    ordinality: Field | None = None
    """The number of the function's row, from 1."""

    @property
    def fields(self) -> tuple[Field, ...]:
        number = (self.ordinality,) if self.ordinality else ()
        return self.input.fields + self.columns + number


@dataclass(frozen=True)
class UnionAll(Relation):
    """The rows of all inputs; the fields of each are taken by position."""

    relations: tuple[Relation, ...]
    columns: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


@dataclass(frozen=True)
class TemporalFilter(Relation):
    """The rows that are in the result now: from `since` until before `until`, by the clock. A row
    for which one of them is null is never in it."""

    input: Relation
    since: Expression | None = None
    """A TIMESTAMP of a row, from which on it is in the result."""
    until: Expression | None = None
    """A TIMESTAMP of a row, from which on it is not."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class ClosedRows(Relation):
    """The rows that can no longer change: those whose time has been passed by the watermarks of all
    sources. One for which it is null is not there."""

    input: Relation
    closes: Expression
    """A TIMESTAMP of a row: the least watermark at which it is final."""
    sources: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


# -- joins ---------------------------------------------------------------------------------------


class JoinKind(Enum):
    """Which rows a join gives."""

    INNER = "INNER"
    LEFT = "LEFT"
    FULL = "FULL"
    SEMI = "SEMI"
    """Each left row that has a partner, once."""
    ANTI = "ANTI"
    """Each left row that has none."""


@dataclass(frozen=True)
class Pairs(Relation):
    """Pairs of rows for which all equalities and the condition are true. Without equalities each
    row is compared with each."""

    left: Relation
    right: Relation
    kind: JoinKind
    equalities: tuple[tuple[Expression, Expression], ...] = ()
    """Of the left and of the right side's fields. A null equals nothing."""
    condition: Expression | None = None
    """What else a pair must satisfy."""
    null_safe: tuple[bool, ...] = ()
    """By equality, whether a null equals a null (IS NOT DISTINCT FROM); empty: nowhere."""

    @property
    def nulls_equal(self) -> tuple[bool, ...]:
        """`null_safe` of each equality."""
        return self.null_safe or (False,) * len(self.equalities)

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.fields
        return self.left.fields + self.right.fields


@dataclass(frozen=True)
class Join(Pairs):
    """The pairs of the rows that both sides have. A RIGHT join is a LEFT join of its exchanged
    sides."""


@dataclass(frozen=True)
class TemporalJoin(Pairs):
    """The pairs that a row of the left side made with the rows that the right side had at the end
    of the batch in which it arrived: INNER or LEFT. They go when the left row goes. It is no
    function of what its sides have now, so no rule of joins holds for it."""


# -- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aggregate(Relation):
    """One row per combination of the keys, nulls being equal; without keys always one row. Without
    aggregates: DISTINCT."""

    input: Relation
    keys: tuple[Field, ...]
    aggregates: tuple[tuple[Field, Expression], ...] = ()
    """Aggregate calls, each with its DISTINCT, ORDER BY and FILTER."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.keys + tuple(field for field, _ in self.aggregates)


@dataclass(frozen=True)
class WindowFunctions(Relation):
    """Each row with window functions over its partition; all of them share partition and order."""

    input: Relation
    partition: tuple[Field, ...]
    functions: tuple[tuple[Field, Expression], ...]
    """sqlglot's Window, each."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(field for field, _ in self.functions)


@dataclass(frozen=True)
class TopRows(Relation):
    """The rows from `offset` on, at most `limit`, of each partition by the order: LIMIT, DISTINCT
    ON, ROW_NUMBER() <= n."""

    input: Relation
    partition: tuple[Field, ...]
    order: tuple[Expression, ...]
    """sqlglot's Ordered, each."""
    limit: int | None
    offset: int = 0
    ties: bool = False
    """Whether rows that are equal to the last one in the order are included."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class AtMostOne(Relation):
    """The rows of the input, of which no partition may have two: a scalar subquery. A second row is
    an error of the query that reads, and of a view it is one in the processing log."""

    input: Relation
    partition: tuple[Field, ...] = ()

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


class SetKind(Enum):
    """INTERSECT and EXCEPT; UNION is a UnionAll, and DISTINCT an Aggregate."""

    INTERSECT = "INTERSECT"
    EXCEPT = "EXCEPT"


@dataclass(frozen=True)
class SetOperation(Relation):
    """Whole rows, nulls being equal; fields are taken by position."""

    left: Relation
    right: Relation
    kind: SetKind
    all: bool
    """Whether multiplicities count; otherwise each row is there once."""
    columns: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


# -- recursion -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Added(Relation):
    """Within a recursion's step: the rows that the step before it has added."""

    recursion: str
    columns: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


@dataclass(frozen=True)
class Recursion(Relation):
    """WITH RECURSIVE: the rows of the base, and those that steps add until one adds none. Fields
    are taken by position."""

    name: str
    """Unique within a plan."""
    base: Relation
    step: Relation
    distinct: bool
    """Whether a step adds only rows that are not there: UNION instead of UNION ALL."""
    columns: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


# -- plans ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RelationalPlan:
    """A query: its relation, and how its result is shown."""

    root: Relation
    output: tuple[Field, ...]
    """The columns of the result, in order; each is a field of the root."""
    key: tuple[Field, ...] | None
    """Fields that identify a row, of the root; None: the row and its number do."""
    order: tuple[Expression, ...] = ()
    """ORDER BY of the whole, which has meaning for a pull query only."""
    grows: bool = False
    """Of a view: whether rows are added only, and none is changed or taken back."""
    watermark: tuple[Field, int] | None = None
    """Of such a view: the column and the delay of a watermark that it passes on."""
