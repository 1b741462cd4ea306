"""EMIT ON WINDOW CLOSE: when a row of a relation can no longer change.

A source's watermark is a promise: no row to come has a lesser time. `times` are the columns by
which a relation keeps it: no change to come is of a row whose time, and `after` microseconds more,
the watermark has reached. A window function that reads rows behind a row breaks the promise for its
own result; such a row waits for the times of these rows, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql.catalog import Catalog
from streamsql.errors import Span, UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    ClosedRows,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    SetOperation,
    TemporalFilter,
    TemporalJoin,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
    relations,
)
from streamsql.planner.relational.dependent import with_inputs
from streamsql.planner.relational.expressions import (
    Ids,
    column,
    compare,
    conjunction,
    id_of,
    ids_in,
    is_not_null,
    number,
    typed,
)
from streamsql.planner.relational.intervals import constant_number, length, span
from streamsql.planner.relational.rules.pruning import exactly
from streamsql.types import BIGINT, TIMESTAMP, quote
from streamsql.values.intervals import Interval

_TICK = 1
"""A row whose time is the watermark is not late."""
_DAY = 86_400_000_000
_UNITS = {
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
    "MONTH": 31 * _DAY,
    "QUARTER": 92 * _DAY,
    "YEAR": 366 * _DAY,
}
"""The greatest length of a unit."""
_WHOLE = (exp.PercentRank, exp.CumeDist, exp.Ntile)
_BEFORE = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag)


@dataclass(frozen=True)
class Time:
    """A column whose changes to come are of later rows."""

    sources: frozenset[str]
    after: int
    """Microseconds between its value and the watermark at which it is passed."""
    delay: int | None = None
    """That of the watermark of the source, whose column it is unchanged."""


@dataclass(frozen=True)
class Followed:
    """A relation, and what is known of the rows to come."""

    relation: Relation
    times: Mapping[str, Time] = field(default_factory=dict)
    """By field."""
    waits: tuple[Expression, ...] = ()
    """Of a row: times that the watermark has to pass, too. Null: the row is not final."""
    settled: frozenset[str] = frozenset()
    """Fields that are final once a time is passed, before `waits` are."""
    sessions: Mapping[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    """Fields that never decrease within a partition, in the order of a time."""

    @property
    def needed(self) -> set[str]:
        """The fields that say when a row is final."""
        return {*self.times, *ids_in(*self.waits)}

    def final(self, *of: Expression) -> bool:
        return ids_in(*of) <= self.settled


def closed(root: Relation, catalog: Catalog, ids: Ids, span: Span | None) -> Relation:
    """The rows of the relation once they can no longer change; UnsupportedError where they always
    can."""
    for each in _changing(root):
        if isinstance(each, TemporalFilter):
            raise _never("NOW() takes rows out of it as time passes", None, span)
        if isinstance(each, Scan) and not catalog.get(each.source).grows:
            raise UnsupportedError(
                "EMIT ON WINDOW CLOSE needs rows that do not change, and those of "
                f"{quote(each.source)} can.",
                hint="It reads streams, tables that are CREATE TABLE .. (..) APPEND ONLY, and "
                "views that only gain rows.",
                span=span,
            )
    found = _Following(catalog, ids).follow(root)
    if not found.times:
        watermarks = {
            each.source: mark.column
            for each in relations(root)
            if isinstance(each, Scan) and (mark := catalog.get(each.source).watermark)
        }
        raise _never("no row of it is certain to be final", watermarks, span)
    name, time = next(iter(found.times.items()))
    own = next(f for f in found.relation.fields if f.id == name)
    sources = frozenset[str]().union(*(time.sources for time in found.times.values()))
    # What a row waits for is not before its time.
    closes = _latest(found.waits or [_later(column(own), time.after)])
    rows = ClosedRows(found.relation, closes, tuple(sorted(sources)))
    return exactly(rows, root.fields)


def _changing(node: Relation) -> Iterator[Relation]:
    """What changes of the relation come from: not the right side of a temporal join."""
    yield node
    for below in (node.left,) if isinstance(node, TemporalJoin) else node.inputs:
        yield from _changing(below)


def passed_on(
    root: Relation, output: Sequence[Field], catalog: Catalog
) -> tuple[Field, int] | None:
    """The watermark that a view, whose rows are added only, passes on: a column that it carries
    unchanged, with its delay."""
    gate = next((each for each in relations(root) if isinstance(each, ClosedRows)), None)
    if gate is not None:
        return _of_closed(gate, output)
    times = _Following(catalog, Ids()).follow(root).times
    for each in output:
        time = times.get(each.id)
        if time is not None and time.delay is not None and len(time.sources) == 1:
            return each, time.delay
    return None


def _of_closed(gate: ClosedRows, output: Sequence[Field]) -> tuple[Field, int] | None:
    """Rows come in the order of the time at which they close, unless they wait for others."""
    by = gate.closes.this if isinstance(gate.closes, exp.Add) else gate.closes
    shown = next((each for each in output if each.id == id_of(by)), None)
    return None if shown is None else (shown, 0)


def _never(why: str, watermarks: Mapping[str, str] | None, span: Span | None) -> UnsupportedError:
    hint = None
    if watermarks is not None and not watermarks:
        hint = (
            "A source needs a watermark: CREATE TABLE .. (.., WATERMARK FOR at AS at - INTERVAL "
            "'5' MINUTE) APPEND ONLY."
        )
    elif watermarks:
        at = next(iter(watermarks.values()))
        hint = (
            f"Select {at}, group by it or by the windows of TUMBLE and HOP over it, or order "
            "window functions by it, with frames that end."
        )
    return UnsupportedError(
        f"This query can not EMIT ON WINDOW CLOSE: {why}.", hint=hint, span=span
    )


def _later(moment: Expression, by: int) -> Expression:
    if not by:
        return moment
    return typed(exp.Add(this=moment, expression=length(Interval(micros=by))), TIMESTAMP)


def _latest(moments: Sequence[Expression]) -> Expression:
    """The latest; null if one is."""
    first, *others = moments
    if not others:
        return first
    latest = typed(
        exp.Greatest(this=first.copy(), expressions=[each.copy() for each in others]), TIMESTAMP
    )
    known = conjunction([is_not_null(each.copy()) for each in moments])
    return typed(exp.Case(ifs=[exp.If(this=known, true=latest)]), TIMESTAMP)


@dataclass
class _Following:
    catalog: Catalog
    ids: Ids
    _known: dict[Relation, Followed] = field(default_factory=dict)

    def follow(self, node: Relation) -> Followed:
        found = self._known.get(node)
        if found is None:
            method = _METHODS.get(type(node))
            found = self._unknown(node) if method is None else method(self, node)
            self._known[node] = found
        return found

    def _unknown(self, node: Relation) -> Followed:
        def of(below: Relation) -> Relation:
            return exactly(self.follow(below).relation, below.fields)

        return Followed(with_inputs(node, of))

    # -- a row at a time -------------------------------------------------------------------------

    def scan(self, node: Scan) -> Followed:
        mark = self.catalog.get(node.source).watermark
        every = frozenset(f.id for f in node.fields)
        if mark is None:
            return Followed(node, settled=every)
        own = next((f for name, f in node.columns if name == mark.column), None)
        columns = node.columns
        if own is None:
            own = self.ids.field(mark.column, TIMESTAMP)
            columns = (*columns, (mark.column, own))
        scan = replace(node, columns=columns, watermark=(own, mark.delay))
        time = Time(frozenset({node.source}), _TICK, mark.delay)
        return Followed(scan, {own.id: time}, (), every | {own.id})

    def filter(self, node: Filter) -> Followed:
        below = self.follow(node.input)
        settled = below.settled if below.final(node.condition) else frozenset[str]()
        return replace(below, relation=replace(node, input=below.relation), settled=settled)

    def project(self, node: Project) -> Followed:
        below = self.follow(node.input)
        items = list(node.items)
        shown = {id_of(value): own.id for own, value in items if id_of(value)}
        for own in below.relation.fields:
            if own.id in below.needed and shown.get(own.id) != own.id:
                items.append((own, column(own)))
        times: dict[str, Time] = {}
        for own, value in items:
            time = _time_of(value, below.times)
            if time is not None:
                times[own.id] = time
        settled = frozenset(own.id for own, value in items if below.final(value))
        sessions = {
            own.id: below.sessions[name]
            for own, value in items
            if (name := id_of(value)) is not None and name in below.sessions
        }
        ordered = {name: times[name] for name in below.times if name in times}
        relation = Project(below.relation, tuple(items))
        return Followed(relation, {**ordered, **times}, below.waits, settled, sessions)

    def generate(self, node: Generate) -> Followed:
        below = self.follow(node.input)
        times = dict(below.times)
        call = node.call
        if isinstance(call, exp.GenerateSeries):
            first = _time_of(call.args["start"], below.times)
            if first is not None:
                times[node.columns[0].id] = replace(first, delay=None)
        added = frozenset(f.id for f in node.fields) - {f.id for f in node.input.fields}
        settled = below.settled | added if below.final(call) else frozenset[str]()
        relation = replace(node, input=below.relation)
        return Followed(relation, times, below.waits, settled, below.sessions)

    # -- several relations -----------------------------------------------------------------------

    def by_place(self, node: UnionAll | SetOperation) -> Followed:
        """Columns of all inputs, which are taken by position."""
        found = self._unknown(node).relation
        sides = [self.follow(below) for below in node.inputs]
        times: dict[str, Time] = {}
        for place, own in enumerate(node.columns):
            of = [
                side.times.get(below.fields[place].id)
                for side, below in zip(sides, node.inputs, strict=True)
            ]
            known = [time for time in of if time is not None]
            if len(known) == len(sides) and not any(side.waits for side in sides):
                times[own.id] = _both(known)
        return Followed(found, times, (), frozenset(f.id for f in node.columns))

    def join(self, node: Join) -> Followed:
        left, right = self.follow(node.left), self.follow(node.right)
        relation = replace(node, left=left.relation, right=right.relation)
        if left.waits or right.waits or node.kind is JoinKind.FULL:
            return Followed(exactly(relation, node.fields))
        times: dict[str, Time] = {}
        if not any(isinstance(each, Scan) for each in relations(node.right)):
            times.update(left.times)
        elif not any(isinstance(each, Scan) for each in relations(node.left)):
            times.update(right.times if node.kind is JoinKind.INNER else {})
        for one, other in node.equalities:
            a, b = left.times.get(id_of(one) or ""), right.times.get(id_of(other) or "")
            if a is None or b is None:
                continue
            times[id_of(one) or ""] = _both([a, b])
            if node.kind is JoinKind.INNER:
                times[id_of(other) or ""] = _both([a, b])
        return Followed(relation, times, (), frozenset(f.id for f in relation.fields))

    def temporal_join(self, node: TemporalJoin) -> Followed:
        """A pair is that of its left row, and does not change with the right side."""
        left, right = self.follow(node.left), self.follow(node.right).relation
        pairs = replace(node, left=left.relation, right=exactly(right, node.right.fields))
        settled = left.settled | {f.id for f in node.right.fields}
        return replace(left, relation=pairs, settled=settled)

    # -- groups ----------------------------------------------------------------------------------

    def aggregate(self, node: Aggregate) -> Followed:
        below = self.follow(node.input)
        relation = replace(node, input=below.relation)
        keys = {own.id for own in node.keys}
        times = {name: replace(t, delay=None) for name, t in below.times.items() if name in keys}
        every = frozenset(own.id for own in relation.fields)
        return Followed(relation, {} if below.waits else times, (), every)

    def top(self, node: TopRows) -> Followed:
        below = self.follow(node.input)
        relation = replace(node, input=below.relation)
        if below.waits:
            return Followed(exactly(relation, node.fields))
        keys = {own.id for own in node.partition}
        times = {name: time for name, time in below.times.items() if name in keys}
        first = _first(node.order, below.times)
        if not times and first is not None:
            times = {first: below.times[first]}
        return Followed(relation, times, (), below.settled)

    # -- window functions ------------------------------------------------------------------------

    def windows(self, node: WindowFunctions) -> Followed:
        below = self.follow(node.input)
        relation = replace(node, input=below.relation)
        calls = [call for _, call in node.functions]
        if not below.final(*calls) or not {f.id for f in node.partition} <= below.settled:
            return Followed(exactly(relation, node.fields))
        added = frozenset(own.id for own, _ in node.functions)
        keys = [own.id for own in node.partition]
        times = {name: time for name, time in below.times.items() if name in keys}
        if times:
            return replace(below, relation=relation, times=times, settled=below.settled | added)
        for key in keys:
            partition, at = below.sessions.get(key, (frozenset[str](), ""))
            if at in below.times and partition <= set(keys) - {key}:
                return self._session(relation, below, key, at)
        order = _order(calls[0])
        at = _first(order, below.times) or ""
        if not at:
            return Followed(exactly(relation, node.fields))
        return self._ordered(relation, below, at, order)

    def _ordered(
        self, node: WindowFunctions, below: Followed, at: str, order: Sequence[Expression]
    ) -> Followed:
        """Functions in the order of a time: a row waits for the end of its frame."""
        reaches = [_reach(call) for _, call in node.functions]
        if any(reach is None for reach in reaches):
            return Followed(node)
        rows = max(reach[0] for reach in reaches if reach)
        behind = max(reach[1] for reach in reaches if reach)
        times = {at: below.times[at]}
        added = frozenset(own.id for own, _ in node.functions)
        time = next(f for f in below.relation.fields if f.id == at)
        waits = list(below.waits)
        if behind:
            waits.append(_later(column(time), behind + _TICK))
        relation = node
        if rows:
            lead = exp.Lead(this=column(time), offset=number(rows))
            last = self.ids.field("LAST", TIMESTAMP)
            window = _over(typed(lead, TIMESTAMP), node.partition, order)
            relation = replace(node, functions=(*node.functions, (last, window)))
            waits.append(_later(column(last), _TICK))
        if rows or behind:
            return replace(below, relation=relation, times=times, waits=tuple(waits))
        partition = frozenset(f.id for f in node.partition)
        counts = {
            own.id: (partition, at)
            for own, call in node.functions
            if isinstance(call.this, exp.Count) and len(order) == 1 and _runs(call)
        }
        return Followed(
            relation, times, below.waits, below.settled | added, {**below.sessions, **counts}
        )

    def _session(self, node: WindowFunctions, below: Followed, key: str, at: str) -> Followed:
        """Partitions one behind the other: a row waits for the first row of the next one."""
        time = next(f for f in below.relation.fields if f.id == at)
        rest = tuple(f for f in node.partition if f.id != key)
        order = [exp.Ordered(this=column(time), desc=False, nulls_first=False)]
        follows = self.ids.field("NEXT", TIMESTAMP)
        lead = _over(typed(exp.Lead(this=column(time)), TIMESTAMP), rest, order)
        inner = WindowFunctions(below.relation, rest, ((follows, lead),))
        own = _order(node.functions[0][1])
        made = [
            (self.ids.field("ROWS", BIGINT), typed(exp.Count(this=exp.Star()), BIGINT)),
            (self.ids.field("FOLLOWED", BIGINT), typed(exp.Count(this=column(follows)), BIGINT)),
            (self.ids.field("NEXT", TIMESTAMP), typed(exp.Max(this=column(follows)), TIMESTAMP)),
        ]
        functions = tuple((f, _over(call, node.partition, own, whole=True)) for f, call in made)
        relation = replace(node, input=inner, functions=(*node.functions, *functions))
        count, known, first = (column(f) for f, _ in made)
        ended = exp.If(this=compare(exp.EQ, count, known), true=_later(first, _TICK))
        wait = typed(exp.Case(ifs=[ended]), TIMESTAMP)
        return replace(
            below, relation=relation, times={at: below.times[at]}, waits=(*below.waits, wait)
        )


_METHODS: dict[type[Relation], Callable[..., Followed]] = {
    Scan: _Following.scan,
    Values: lambda _, node: Followed(node, settled=frozenset(f.id for f in node.fields)),
    Filter: _Following.filter,
    Project: _Following.project,
    Generate: _Following.generate,
    UnionAll: _Following.by_place,
    SetOperation: _Following.by_place,
    Join: _Following.join,
    TemporalJoin: _Following.temporal_join,
    Aggregate: _Following.aggregate,
    TopRows: _Following.top,
    WindowFunctions: _Following.windows,
}


def _both(times: Sequence[Time]) -> Time:
    sources = frozenset[str]().union(*(time.sources for time in times))
    return Time(sources, max(time.after for time in times))


def _time_of(value: Expression, times: Mapping[str, Time]) -> Time | None:
    """Of an expression that is never less than a time by more than a constant."""
    match value:
        case exp.Column():
            return times.get(value.name)
        case exp.Paren():
            return _time_of(value.this, times)
        case exp.Cast() if value.type == TIMESTAMP:
            return _time_of(value.this, times)
        case exp.Add() | exp.Sub():
            by = span(value.expression)
            inner = _time_of(value.this, times)
            if by is None or inner is None:
                return None
            moved = by if isinstance(value, exp.Add) else -by
            return replace(inner, after=inner.after - moved, delay=None)
        case exp.DateBin():
            inner, width = _time_of(value.expression, times), span(value.this)
        case exp.DateTrunc() | exp.TimestampTrunc():
            inner = _time_of(value.this, times)
            width = _UNITS.get(value.args["unit"].name.upper().removesuffix("S"))
        case _:
            return None
    if inner is None or width is None:
        return None
    return replace(inner, after=inner.after + width - _TICK, delay=None)


def _order(window: Expression) -> Sequence[Expression]:
    order = window.args.get("order")
    return order.expressions if order is not None else ()


def _first(order: Sequence[Expression], times: Mapping[str, Time]) -> str | None:
    """The time that the order begins with, ascending."""
    if not order or order[0].args.get("desc"):
        return None
    name = id_of(order[0].this)
    return name if name in times else None


def _over(
    call: Expression,
    partition: Sequence[Field],
    order: Sequence[Expression],
    *,
    whole: bool = False,
) -> Expression:
    by = exp.Order(expressions=[each.copy() for each in order]) if order else None
    window = exp.Window(this=call, partition_by=[column(f) for f in partition], order=by)
    if whole:
        sides = {"start_side": "PRECEDING", "end_side": "FOLLOWING"}
        window.set("spec", exp.WindowSpec(kind="ROWS", start="UNBOUNDED", end="UNBOUNDED", **sides))
    assert call.type is not None
    return typed(window, call.type)


def _runs(window: Expression) -> bool:
    """Whether the frame is that of the rows up to this one."""
    spec = window.args.get("spec")
    return spec is None or (spec.args["start"] == "UNBOUNDED" and spec.args["end"] == "CURRENT ROW")


def _reach(window: Expression) -> tuple[int, int] | None:
    """How many rows, and microseconds, behind a row its function reads; None: there is no end."""
    call = window.this
    ignores = isinstance(call, exp.IgnoreNulls)
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    if isinstance(call, _WHOLE):
        return None
    if isinstance(call, exp.Lead | exp.Lag):
        offset = call.args.get("offset")
        count = 1 if offset is None else _constant(offset)
        if count is None or (ignores and isinstance(call, exp.Lead)):
            return None
        return max(count if isinstance(call, exp.Lead) else -count, 0), 0
    spec = window.args.get("spec")
    if isinstance(call, _BEFORE) or spec is None:
        return 0, 0
    end, side = spec.args["end"], spec.args.get("end_side")
    if end == "CURRENT ROW" or side == "PRECEDING":
        return 0, 0
    if not isinstance(end, exp.Expr):
        return None
    if spec.args["kind"] == "ROWS":
        rows = _constant(end)
        return None if rows is None else (rows, 0)
    reach = span(end)
    return None if reach is None else (0, reach)


def _constant(value: Expression) -> int | None:
    found = constant_number(value)
    return int(found) if found is not None and found == int(found) else None
