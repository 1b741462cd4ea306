"""Join: matching rows of two inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import count, takewhile

from streamsql.nodes import Duration, Expression, JoinType
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.combined import parts_of
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.edges import Columns, Edges, Transformation, over
from streamsql.planner.operators.lineage import NOTHING, Lineage, edges_of, influence, part_name
from streamsql.planner.operators.operator import (
    Binding,
    Deletions,
    Keys,
    Operator,
    StateStore,
    operators,
    state_stores,
)
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.scan import Scan
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import columns_in
from streamsql.planner.windows import grace_text, span_text
from streamsql.schema import ROWTIME, WINDOWSTART, Column, Kind, Namespace, Schema
from streamsql.types import quote, type_of

FOREVER_MS = 1 << 58
"""An unlimited time between two rows; sums of four still fit into 64 bits."""


@dataclass(frozen=True)
class JoinWindow:
    """WITHIN: right rows from `before_ms` before to `after_ms` after the left row's time match it.

    Without `grace_ms` rows may be a day late, and a row without a match is emitted at once;
    otherwise it is held until its window has closed.
    """

    before_ms: int
    after_ms: int
    grace_ms: int | None = None

    @property
    def is_forever(self) -> bool:
        return self.before_ms >= FOREVER_MS

    @property
    def lateness_ms(self) -> int:
        return Duration.UNITS_MS["DAY"] if self.grace_ms is None else self.grace_ms


class JoinKind(Enum):
    """The kind of a join: which rows match, and the key of the result."""

    STREAM_STREAM = "stream-stream"
    STREAM_TABLE = "stream-table"
    TABLE_TABLE = "table-table"
    FOREIGN_KEY = "foreign-key"
    ROWS = "row-by-row"
    """All pairs of rows, whatever their times and keys: in bounded queries."""


@dataclass(frozen=True)
class Join(Operator):
    """Matching rows of two inputs: left_on, over the left's columns, equals right_on, over the
    right's, which has the same type. Both sides' columns are value columns of the result.

    `key` names the key column, which holds the common value; a FOREIGN_KEY join has the left side's
    key instead, and `key` is empty. `windowed`: the keys of both are windowed; rows must have the
    same windows, and the result has the left row's. `condition`, over both sides' columns, is a
    further condition of an outer join; an inner one has a Filter.
    """

    left: Operator
    right: Operator
    join_kind: JoinKind
    type: JoinType
    left_on: Expression
    right_on: Expression
    key: str = ""
    window: JoinWindow | None = None
    windowed: bool = False
    condition: Expression | None = None

    obstacles = ()
    deletions = Deletions.IGNORED

    @cached_property
    def schema(self) -> Schema:
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

    @property
    def expressions(self) -> tuple[Expression, ...]:
        condition = () if self.condition is None else (self.condition,)
        return (self.left_on, self.right_on, *condition)

    @property
    def bindings(self) -> Iterable[Binding]:
        return zip(self.expressions, (self.left, self.right, self), strict=False)

    @property
    def line(self) -> str:
        key = f"key {quote(self.key)}" if self.key else "key of the left side"
        return f"Join {join_text(self)}: {key}"

    def lineage(self) -> Lineage:
        left, right = self.left.lineage(), self.right.lineage()
        times = left.column(ROWTIME.name) | right.column(ROWTIME.name)
        later = over(Transformation.TRANSFORMATION, times)
        columns = {**right.columns, **left.columns, ROWTIME.name: later}
        if self.key:
            columns.update(self._agreed(left, right))
        found = Lineage(columns, left.influences | right.influences, left.reads | right.reads)
        by = Transformation.JOIN
        found = found.influenced(
            influence(by, self.left_on, left.columns), influence(by, self.right_on, right.columns)
        )
        if self.condition is not None:
            found = found.influenced(influence(by, self.condition, columns))
        for side in (left, right):
            if self.window is not None:
                found = found.influenced(over(Transformation.WINDOW, side.column(ROWTIME.name)))
            if self.windowed:
                found = found.influenced(over(by, side.column(WINDOWSTART.name)))
        return found

    def _agreed(self, left: Lineage, right: Lineage) -> Columns:
        """The key, which holds the common value: that of a side that is never missing. Each of
        several equalities has an entry."""
        sides = []
        if self.type is not JoinType.RIGHT:
            sides.append((self.left_on, left.columns))
        if self.type is not JoinType.LEFT:
            sides.append((self.right_on, right.columns))
        key = {self.key: NOTHING.union(*(edges_of(on, columns) for on, columns in sides))}
        for on, columns in sides:
            for number, edges in enumerate(_part_edges(on, columns)):
                name = part_name(self.key, f"K{number}")
                key[name] = key.get(name, NOTHING) | edges
        return key

    def stores(self, root: Operator) -> Iterable[StateStore]:
        left, right = self.left.sources, self.right.sources
        both = "grows with the keys of both"
        refers = _parts_text(self.right_on)
        match self.join_kind:
            case JoinKind.STREAM_TABLE:
                yield StateStore(f"rows of {right}", refers, f"grows with the keys of {right}")
            case JoinKind.TABLE_TABLE:
                yield StateStore(f"rows of {left} and of {right}", equality_text(self), both)
            case JoinKind.FOREIGN_KEY:
                growth = f"grows with the keys of {left}; a few bytes stay of each former key"
                yield StateStore(f"rows of {left}", self.left.key_names, growth)
                yield StateStore(
                    f"rows of {right} and the keys of {left} that refer to them", refers, both
                )
            case JoinKind.STREAM_STREAM:
                window = self.window or JoinWindow(0, 0)
                for side, ms in ((left, window.after_ms), (right, window.before_ms)):
                    kept = span_text(ms + window.lateness_ms)
                    growth = f"a row expires {kept} after its time"
                    growth = "grows forever" if window.is_forever else growth
                    yield StateStore(f"rows of {side}", equality_text(self), growth)

    def identity(self, root: Operator) -> Iterable[str]:
        left, right = _parts_text(self.left_on), _parts_text(self.right_on)
        yield f"{self.type.value} {self.join_kind.value} join of {left} and {right}"
        if (window := self.window) is not None:
            yield f"within {window.before_ms}, {window.after_ms}, {window.lateness_ms}"

    @property
    def knows_cause(self) -> bool:
        return self.join_kind is JoinKind.STREAM_TABLE and not state_stores(self.left)

    def shuffled_inputs(self, root: Operator) -> list[bool]:
        left, right = super().shuffled_inputs(root)
        # Rows with a foreign key are shuffled to the rows that they refer to.
        return [left or self.join_kind is JoinKind.FOREIGN_KEY, right]

    @property
    def time_decides(self) -> bool:
        return self.join_kind is JoinKind.STREAM_STREAM and self.type is not JoinType.INNER

    @property
    def joins_own_groups(self) -> bool:
        """Whether a stream is joined with a table that the query itself groups."""
        groups = (isinstance(operator, Aggregate) for operator in operators(self.right))
        return self.join_kind is JoinKind.STREAM_TABLE and any(groups)

    def parts(self, at: Reading) -> Iterator[Part]:
        clause = f"JOIN {_alias(self.right)}"
        right = at.inside(clause)
        yield from self.left.parts(at.behind())
        yield from self.right.parts(right.behind())
        equality = f"{at.text(self.left_on)} = {right.text(self.right_on)}"
        at.adds(right.meant)
        condition = "" if self.condition is None else f" AND {at.text(self.condition)}"
        windows = " and equal windows" if self.windowed else ""
        text = f"{self.type.value} {self.join_kind.value}{condition}{windows}"
        yield at.part(clause, "", text, columns=at.columns(self._kept(at)))
        yield at.part(clause, "ON", equality, types_of((self.left_on,)))
        if self.window is not None:
            yield at.part(clause, "WITHIN", within_text(self.window))

    def _kept(self, at: Reading) -> Iterator[Column]:
        """The columns of the rows that it stores: those that are read above."""
        needed = at.needed[id(self)]
        if self.condition is not None:
            needed |= {column.name for column in columns_in(self.condition)}
        stream_table = self.join_kind is JoinKind.STREAM_TABLE
        sides = (self.right,) if stream_table else (self.left, self.right)
        return (column for side in sides for column in side.schema if column.name in needed)

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return keys

    @property
    def needs_batch(self) -> str | None:
        if self.join_kind in (JoinKind.TABLE_TABLE, JoinKind.FOREIGN_KEY):
            return None
        full = self.join_kind is JoinKind.ROWS and self.type is JoinType.FULL
        return "it compares the rows of a FULL JOIN" if full else "it joins a stream"

    @property
    def differs_in_batch(self) -> str | None:
        if not self.joins_own_groups:
            return None
        return "rows were joined with intermediate groups, and a batch has the final groups only"


def join_text(plan: Join) -> str:
    """`LEFT OUTER stream-stream ON A.X = B.Y WITHIN 1 HOUR`."""
    equality = equality_text(plan)
    if plan.condition is not None:
        equality += f" AND {expression_text(plan.condition)}"
    windows = " and equal windows" if plan.windowed else ""
    within = f" {within_text(plan.window)}" if plan.window else ""
    return f"{plan.type.value} {plan.join_kind.value} ON {equality}{windows}{within}"


def within_text(window: JoinWindow) -> str:
    if window.is_forever:
        return "AT ANY TIME"
    before, after = (span_text(ms) for ms in (window.before_ms, window.after_ms))
    size = before if before == after else f"({before}, {after})"
    return f"WITHIN {size}{grace_text(window.grace_ms)}"


def _part_edges(on: Expression, columns: Columns) -> list[Edges]:
    """The edges of each part of a compared expression, which may be the key of an earlier join."""
    parts = parts_of(on)
    if len(parts) > 1:
        return [edges_of(part, columns) for part in parts]
    names = (part_name(on.name, f"K{number}") for number in count())
    return [columns[name] for name in takewhile(columns.__contains__, names)]


def equality_text(plan: Join) -> str:
    pairs = zip(parts_of(plan.left_on), parts_of(plan.right_on), strict=False)
    return " AND ".join(f"{expression_text(a)} = {expression_text(b)}" for a, b in pairs)


def _parts_text(expression: Expression) -> str:
    return ", ".join(map(expression_text, parts_of(expression)))


def _alias(node: Operator) -> str:
    while not isinstance(node, Qualify | Scan | Derived):
        (node, *_) = node.inputs
    return node.alias
