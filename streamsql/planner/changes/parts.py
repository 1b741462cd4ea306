"""A query's plan taken apart into what can change of it, each part with its clause and place.

The plan is the one after the rules: what these push below state is part of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import singledispatchmethod

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.errors import InternalError
from streamsql.nodes import Expression
from streamsql.planner.changes.meanings import typed
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.file_sink import FileSink
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.items import Named
from streamsql.planner.operators.join import Join, JoinKind, within_text
from streamsql.planner.operators.lookup_join import LookupJoin, lookup_line
from streamsql.planner.operators.match import Match, keys_text, match_text
from streamsql.planner.operators.operator import Operator, state_stores
from streamsql.planner.operators.over import Over, frame_text, meaning
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.scan import Scan, start_text
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.topics import topic_text
from streamsql.planner.operators.union import Union
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import columns_in, reference, replace
from streamsql.planner.windows import duration, words
from streamsql.schema import Column, Constraint
from streamsql.types import SQLType, type_of

Place = tuple[str, ...]
"""Which subquery or side of a join, from the outside in; empty for the query itself."""


@dataclass(frozen=True)
class Part:
    """One thing that a query says."""

    place: Place
    clause: str
    name: str
    """Which of several in the clause: a column, an aggregate."""
    text: str
    types: tuple[SQLType, ...] = ()
    """Of the expressions in it, where state holds their values."""
    stage: int = 0
    """How many operators with state stand between it and the result."""
    keeps: bool = False
    """Whether it has a store of its own, of the keys that have passed."""
    columns: Mapping[str, tuple[str, SQLType]] = field(default_factory=dict)
    """Of what keeps rows: the columns that it keeps, and what they are."""
    names: str = ""
    """What the state calls what is in it, where that is not the text."""

    @property
    def key(self) -> tuple[Place, str, str]:
        """What is compared with what."""
        return self.place, self.clause, self.name


def parts_of_plan(root: Operator) -> dict[tuple[Place, str, str], Part]:
    """All parts, those nearest to the sources first."""
    found: dict[tuple[Place, str, str], Part] = {}
    for part in _Reader(root).parts(root, (), 0):
        while part.key in found:
            part = changed(part, name=f"{part.name} again")
        found[part.key] = part
    return found


class _Reader:
    """What is read by another name, from a subquery or an aggregation, is what it stands for."""

    def __init__(self, root: Operator) -> None:
        self._root = root
        self._needed = needed_columns(root)
        self._meant: dict[Place, dict[str, Expression]] = {}
        """By places: what the columns of the rows there stand for, where that is not themselves."""

    def parts(self, node: Operator, place: Place, stage: int) -> Iterator[Part]:
        yield from self._of(node, place, stage)

    @singledispatchmethod
    def _of(self, node: Operator, place: Place, stage: int) -> Iterator[Part]:
        raise InternalError(f"{type(node).__name__} cannot be compared with what it was")

    def _written_out(self, expression: Expression, place: Place) -> Expression:
        meant = self._meant.get(place)
        if not meant:
            return expression
        return replace(
            expression,
            lambda node: (
                meant[node.name].copy()
                if isinstance(node, exp.Column) and node.name in meant
                else None
            ),
        )

    def _text(self, expression: Expression, place: Place) -> str:
        return expression_text(self._written_out(expression, place))

    def _texts(self, items: tuple[Named, ...], place: Place) -> str:
        return ", ".join(self._text(item.expression, place) for item in items) or "nothing"

    def _stand_for(self, items: tuple[Named, ...], place: Place) -> dict[str, Expression]:
        return {item.name: self._written_out(item.expression, place) for item in items}

    # -- what is read ------------------------------------------------------------------------------

    @_of.register
    def _(self, node: Scan, place: Place, stage: int) -> Iterator[Part]:
        kept = self._columns(list(node.stored_values), place)
        read = stage + bool(kept)
        yield Part(place, "FROM", "", node.source.name, stage=read)
        yield Part(place, "records of", node.source.name, _records(node.source), stage=read)
        if kept:
            said = ", ".join(kept)
            yield Part(place, "unavailable values", "", said, stage=stage, columns=kept)
        yield from _constraints(node.source, node.source.expected_of_reads, place, stage)
        if node.start is not None:
            yield Part(place, "FROM", "start", start_text(node.start), stage=stage)

    @_of.register
    def _(self, node: Derived, place: Place, stage: int) -> Iterator[Part]:
        # One that keeps nothing is no other than its text written in its place.
        inner = (*place, "the subquery") if state_stores(node.input, self._root) else place
        yield from self.parts(node.input, inner, stage)
        self._meant[place] = self._meant.get(inner, {})
        if node.by_clock:
            yield Part(place, "DESCRIPTOR", "", "PROCTIME()", stage=stage)

    @_of.register
    def _(self, node: Qualify, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage)
        meant = self._meant.get(place, {})
        self._meant[place] = {f"{node.alias}.{name}": e for name, e in meant.items()}

    @_of.register
    def _(self, node: Union, place: Place, stage: int) -> Iterator[Part]:
        branches = _branches(node)
        yield Part(place, "UNION ALL", "", f"{len(branches)} queries", stage=stage)
        for number, branch in enumerate(branches, start=1):
            inner = (*place, f"query {number} of the union")
            yield from self.parts(branch, inner, stage)
            for column in node.schema:
                text = self._text(reference(column.name, typed(column)), inner)
                yield Part(inner, "SELECT", column.name, text, (column.type,), stage)

    # -- what keeps nothing, but for filters of tables ------------------------------------------

    @_of.register
    def _(self, node: Filter, place: Place, stage: int) -> Iterator[Part]:
        keeps = node.remembers(self._root)
        yield from self.parts(node.input, place, stage + keeps)
        text = self._text(node.condition, place)
        name = str(stage) if stage else ""
        yield Part(place, node.clause, name, text, stage=stage, keeps=keeps)

    @_of.register
    def _(self, node: Project, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage)
        self._meant[place] = self._stand_for((*node.key, *node.value), place)

    @_of.register
    def _(self, node: FlatMap, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage)
        text = self._texts(node.functions, place)
        yield Part(place, "table functions", "", text, stage=stage)
        self._add(self._stand_for(node.functions, place), place)

    @_of.register
    def _(self, node: Repartition, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage)
        text = self._texts(node.keys, place)
        yield Part(place, "PARTITION BY", "", text, _types(node.keys), stage=stage)
        self._add(self._stand_for(node.keys, place), place)

    @_of.register
    def _(self, node: Sink, place: Place, stage: int) -> Iterator[Part]:
        yield from self._selected(node.input, place, stage)
        yield from _constraints(node.target, node.target.expected_of_writes, place, stage)

    @_of.register
    def _(self, node: FileSink, place: Place, stage: int) -> Iterator[Part]:
        yield from self._selected(node.input, place, stage)
        said = {
            "PATH": node.target.path,
            "FORMAT": node.target.format,
            "PARTITION_BY": ", ".join(node.partition_by) or "nothing",
            "COMMIT_INTERVAL": words(duration(node.interval_ms)),
        }
        yield from (Part(place, "WITH", n, text, stage=stage) for n, text in said.items())

    def _selected(self, node: Operator, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node, place, stage)
        for column in node.schema:
            text = self._text(reference(column.name, typed(column)), place)
            yield Part(place, "SELECT", column.name, text, (column.type,), stage)

    @_of.register
    def _(self, node: LookupJoin, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage)
        yield Part(place, "look-up", node.alias, lookup_line(node), stage=stage)

    def _add(self, meant: Mapping[str, Expression], place: Place) -> None:
        self._meant[place] = {**self._meant.get(place, {}), **meant}

    # -- what keeps state --------------------------------------------------------------------------

    @_of.register
    def _(self, node: Join, place: Place, stage: int) -> Iterator[Part]:
        alias = _alias(node.right)
        clause, right = f"JOIN {alias}", (*place, f"JOIN {alias}")
        yield from self.parts(node.left, place, stage + 1)
        yield from self.parts(node.right, right, stage + 1)
        left, own = self._text(node.left_on, place), self._text(node.right_on, right)
        self._add(self._meant.get(right, {}), place)
        kept = self._kept(node, place)
        yield Part(place, clause, "", self._join(node, place), stage=stage, columns=kept)
        types = (type_of(node.left_on),)
        yield Part(place, clause, "ON", f"{left} = {own}", types, stage)
        if node.window is not None:
            yield Part(place, clause, "WITHIN", within_text(node.window), stage=stage)

    def _join(self, node: Join, place: Place) -> str:
        """The join without ON and WITHIN."""
        besides = node.condition
        condition = "" if besides is None else f" AND {self._text(besides, place)}"
        windows = " and equal windows" if node.windowed else ""
        return f"{node.type.value} {node.join_kind.value}{condition}{windows}"

    def _kept(self, node: Join, place: Place) -> dict[str, tuple[str, SQLType]]:
        """The columns of the rows that the join keeps: those that are read further up."""
        needed = self._needed[id(node)]
        if node.condition is not None:
            needed |= {column.name for column in columns_in(node.condition)}
        stream_table = node.join_kind is JoinKind.STREAM_TABLE
        sides = (node.right,) if stream_table else (node.left, node.right)
        columns = [column for side in sides for column in side.schema]
        return self._columns([column for column in columns if column.name in needed], place)

    def _columns(self, columns: list[Column], place: Place) -> dict[str, tuple[str, SQLType]]:
        return {c.name: (self._text(reference(c.name, typed(c)), place), c.type) for c in columns}

    @_of.register
    def _(self, node: Aggregate, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage + 1)
        keys, names = self._texts(node.keys, place), ", ".join(key.name for key in node.keys)
        yield Part(place, "GROUP BY", "", keys, _types(node.keys), stage, names=names)
        for call in node.aggregates:
            text, own = self._text(call.expression, place), expression_text(call.expression)
            types = (type_of(call.expression), *_argument_types(call.expression))
            yield Part(place, "aggregates", text, text, types, stage, names=own)
        if (window := node.window) is not None:
            sizes = [words(duration(d.ms)) for d in (window.size, window.advance) if d]
            text = f"{window.type.value} {', '.join(sizes)}"
            yield Part(place, "WINDOW", "", text, stage=stage)
            if window.grace is not None:
                grace = words(duration(window.grace.ms))
                yield Part(place, "GRACE PERIOD", "", grace, stage=stage)
        yield Part(place, "EMIT", "", node.emit.value, stage=stage)
        self._meant[place] = self._stand_for((*node.keys, *node.aggregates), place)

    @_of.register
    def _(self, node: TopN, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage + 1)
        order = ", ".join(
            f"{self._text(o.expression, place)}{' DESC' if o.descending else ''}"
            for o in node.order
        )
        text = f"PARTITION BY {self._texts(node.keys, place)} ORDER BY {order}"
        types = (*_types(node.keys), *(type_of(o.expression) for o in node.order))
        kept = self._columns(list(node.input.schema), place)
        function = node.ranks.value
        yield Part(place, function, "", text, types, stage, columns=kept)
        yield Part(place, function, "count", str(node.count), stage=stage)
        self._add(self._stand_for(node.keys, place), place)

    @_of.register
    def _(self, node: Over, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage + 1)
        keys = ", ".join(self._text(key, place) for key in node.keys) or "nothing"
        calls = ", ".join(
            self._text(call.expression, place)
            + (f" {call.lag} rows before" if call.lag else frame_text(call))
            for call in node.calls
        )
        types = tuple(type_of(e) for e in (*node.keys, *(c.expression for c in node.calls)))
        # Of rows that go on at once nothing is kept but what the calls read.
        needed = self._needed[id(node)] if node.grace_ms is not None else frozenset()
        kept = self._columns([c for c in node.input.schema if c.name in needed], place)
        text = f"{calls} PARTITION BY {keys}"
        yield Part(place, "OVER", "", text, types, stage, columns=kept)
        if node.grace_ms is not None:
            grace = words(duration(node.grace_ms))
            yield Part(place, "GRACE PERIOD of OVER", "", grace, stage=stage)
        self._add({c.name: self._written_out(meaning(c), place) for c in node.calls}, place)

    @_of.register
    def _(self, node: Match, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage + 1)
        types = _types((*node.keys, *(Named(c.name, c.expression) for c in node.decisive)))
        plain = (c.expression for c in node.all_columns if isinstance(c.expression, exp.Column))
        kept = {e.name: (self._text(e, place), type_of(e)) for e in plain}
        keys = keys_text(node, lambda e: self._text(e, place)) or "nothing"
        of = ", ".join(dict.fromkeys(self._text(c.expression, place) for c in node.decisive))
        text = f"{match_text(node)} PARTITION BY {keys}, of {of or 'no column'}"
        yield Part(place, "MATCH_RECOGNIZE", "", text, types, stage, columns=kept)
        if node.grace_ms is not None:
            grace = words(duration(node.grace_ms))
            yield Part(place, "GRACE PERIOD of MATCH_RECOGNIZE", "", grace, stage=stage)
        self._add(self._stand_for(node.keys, place), place)

    @_of.register
    def _(self, node: Distinct, place: Place, stage: int) -> Iterator[Part]:
        yield from self.parts(node.input, place, stage + 1)
        columns = self._columns(list(node.schema), place)
        text = ", ".join(written for written, _ in columns.values())
        window = f" in windows of {words(duration(node.window.size.ms))}" if node.window else ""
        types = tuple(column.type for column in node.schema)
        names = ", ".join(columns)
        yield Part(place, "DISTINCT", "", text + window, types, stage, names=names)
        if node.window and node.window.grace is not None:
            grace = words(duration(node.window.grace.ms))
            yield Part(place, "GRACE PERIOD", "", grace, stage=stage)


def _records(source: Source) -> str:
    """How the records of a source are read."""
    topic = changed(source.topic, partitions=None, replicas=None)
    return topic_text(changed(source, topic=topic))


def _branches(node: Operator) -> list[Operator]:
    if isinstance(node, Union):
        return [*_branches(node.left), *_branches(node.right)]
    return [node]


def _alias(node: Operator) -> str:
    """The name of what is joined."""
    while not isinstance(node, Qualify | Scan | Derived):
        (node, *_) = node.inputs
    return node.alias


def _constraints(
    source: Source, constraints: tuple[Constraint, ...], place: Place, stage: int
) -> Iterator[Part]:
    for constraint in constraints:
        name = f"{source.name}.{constraint.name}"
        yield Part(place, "CONSTRAINT", name, constraint.condition, stage=stage)
        yield Part(place, "ON VIOLATION of", name, constraint.on_violation.value, stage=stage)


def _types(items: tuple[Named, ...]) -> tuple[SQLType, ...]:
    return tuple(type_of(item.expression) for item in items)


def _argument_types(call: Expression) -> tuple[SQLType, ...]:
    return tuple(type_of(argument) for argument in call.expressions)
