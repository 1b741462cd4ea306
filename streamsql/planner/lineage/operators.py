"""Where the columns of a plan come from: a pure function, operator by operator, from the sources
that are read to the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import count, takewhile

from streamsql.errors import InternalError
from streamsql.nodes import Expression, JoinType, SetOperator, Window
from streamsql.planner.lineage.edges import Columns, Edge, Edges, Transformation, over
from streamsql.planner.lineage.expressions import edges_of, influence, part_name
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.combined import parts_of
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.file_sink import FileSink
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.limit import Limit
from streamsql.planner.operators.lookup_join import LookupJoin
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Named, Operator
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.set_operation import SetOperation
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.union import Union
from streamsql.planner.operators.values import Values
from streamsql.planner.select.window_functions import STEP
from streamsql.planner.types.binding import columns_in
from streamsql.schema import (
    RESERVED_COLUMNS,
    ROWTIME,
    WINDOW_BOUNDS,
    WINDOWSTART,
    TimestampColumn,
    WindowType,
)

_NOTHING: Edges = frozenset()


@dataclass(frozen=True)
class Lineage:
    """Of the rows of an operator: where each column comes from, which columns decide which rows
    there are, and the names of the sources that are read."""

    columns: Columns = field(default_factory=dict)
    """Those of the operator's schema, and what the rows have besides: time, place and window."""
    influences: Edges = _NOTHING
    reads: frozenset[str] = frozenset()

    def with_columns(self, columns: Columns) -> Lineage:
        """The same rows with other columns: time, place and window go on."""
        besides = {n: e for n, e in self.columns.items() if n in RESERVED_COLUMNS}
        return replace(self, columns={**besides, **columns})

    def influenced(self, *edges: Edges) -> Lineage:
        """The same with more that decides which rows there are."""
        return replace(self, influences=self.influences.union(*edges))


@singledispatch
def lineage(plan: Operator) -> Lineage:
    """Of the rows of a plan."""
    raise InternalError(f"no lineage for {type(plan).__name__}")


# -- what is read --------------------------------------------------------------------------------


@lineage.register
def _scan(plan: Scan) -> Lineage:
    name = plan.source.name
    columns = {
        column.name: frozenset({Edge(name, column.name, Transformation.IDENTITY)})
        for column in plan.schema
    }
    time = plan.source.timestamp
    if time is not None:
        columns[ROWTIME.name] = _time(columns[time.name], time)
    return Lineage(columns, reads=frozenset({name}))


def _time(column: Edges, time: TimestampColumn) -> Edges:
    """Where the time of rows comes from that have it in a column."""
    return over(Transformation.TRANSFORMATION, column) if time.format else column


@lineage.register
def _derived(plan: Derived) -> Lineage:
    found = lineage(plan.input)
    if not plan.by_clock:
        return found
    # What the clock says comes from no column.
    return replace(found, columns={**found.columns, ROWTIME.name: _NOTHING})


@lineage.register
def _values(plan: Values) -> Lineage:
    return Lineage({column.name: _NOTHING for column in plan.schema})


# -- rows one by one -----------------------------------------------------------------------------


@lineage.register
def _filter(plan: Filter) -> Lineage:
    found = lineage(plan.input)
    by = Transformation.JOIN if plan.clause == "ON" else Transformation.FILTER
    if {column.name for column in columns_in(plan.condition)} == {STEP}:
        by = Transformation.WINDOW  # The condition is not the user's, but that of HOP in FROM.
    return found.influenced(influence(by, plan.condition, found.columns))


@lineage.register
def _project(plan: Project) -> Lineage:
    found = lineage(plan.input)
    return found.with_columns(_made((*plan.key, *plan.value), found.columns))


def _made(items: Iterable[Named], columns: Columns) -> Columns:
    return {item.name: edges_of(item.expression, columns) for item in items}


@lineage.register
def _flat_map(plan: FlatMap) -> Lineage:
    found = lineage(plan.input)
    return replace(found, columns={**found.columns, **_made(plan.functions, found.columns)})


@lineage.register
def _repartition(plan: Repartition) -> Lineage:
    found = lineage(plan.input)
    return replace(found, columns={**found.columns, **_made(plan.keys, found.columns)})


@lineage.register
def _qualify(plan: Qualify) -> Lineage:
    found = lineage(plan.input)
    return found.with_columns({f"{plan.alias}.{n}": e for n, e in found.columns.items()})


@lineage.register
def _limit(plan: Limit) -> Lineage:
    return lineage(plan.input)


@lineage.register
def _file_sink(plan: FileSink) -> Lineage:
    return lineage(plan.input)


@lineage.register
def _sink(plan: Sink) -> Lineage:
    found = lineage(plan.input)
    if plan.timestamp is None:
        return found
    time = _time(found.columns[plan.timestamp.name], plan.timestamp)
    return replace(found, columns={**found.columns, ROWTIME.name: time})


# -- rows that meet ------------------------------------------------------------------------------


@lineage.register
def _join(plan: Join) -> Lineage:
    left, right = lineage(plan.left), lineage(plan.right)
    times = _column(left, ROWTIME.name) | _column(right, ROWTIME.name)
    later = over(Transformation.TRANSFORMATION, times)
    columns = {**right.columns, **left.columns, ROWTIME.name: later}
    if plan.key:
        columns.update(_agreed(plan, left, right))
    found = Lineage(columns, left.influences | right.influences, left.reads | right.reads)
    by = Transformation.JOIN
    found = found.influenced(
        influence(by, plan.left_on, left.columns), influence(by, plan.right_on, right.columns)
    )
    if plan.condition is not None:
        found = found.influenced(influence(by, plan.condition, columns))
    for side in (left, right):
        if plan.window is not None:
            found = found.influenced(over(Transformation.WINDOW, _column(side, ROWTIME.name)))
        if plan.windowed:
            found = found.influenced(over(by, _column(side, WINDOWSTART.name)))
    return found


def _agreed(plan: Join, left: Lineage, right: Lineage) -> Columns:
    """The key, which holds what both sides agree on; where one side may be missing, of the other.
    Of several equalities each part is known."""
    sides = []
    if plan.type is not JoinType.RIGHT:
        sides.append((plan.left_on, left.columns))
    if plan.type is not JoinType.LEFT:
        sides.append((plan.right_on, right.columns))
    key = {plan.key: _NOTHING.union(*(edges_of(on, columns) for on, columns in sides))}
    for on, columns in sides:
        for number, edges in enumerate(_parts(on, columns)):
            name = part_name(plan.key, f"K{number}")
            key[name] = key.get(name, _NOTHING) | edges
    return key


def _parts(on: Expression, columns: Columns) -> list[Edges]:
    """Of each of several parts of what is compared, which may be the key of a join before."""
    parts = parts_of(on)
    if len(parts) > 1:
        return [edges_of(part, columns) for part in parts]
    names = (part_name(on.name, f"K{number}") for number in count())
    return [columns[name] for name in takewhile(columns.__contains__, names)]


@lineage.register
def _lookup(plan: LookupJoin) -> Lineage:
    found, name = lineage(plan.input), plan.lookup.name
    columns = {
        f"{plan.alias}.{column.name}": frozenset({Edge(name, column.name, Transformation.IDENTITY)})
        for column in plan.lookup.schema
    }
    by = Transformation.JOIN
    keys = frozenset({Edge(name, column.name, by) for column in plan.lookup.schema.key})
    compared = (influence(by, key, found.columns) for key in plan.keys)
    found = replace(found, columns={**found.columns, **columns}, reads=found.reads | {name})
    found = found.influenced(keys, *compared)
    if plan.condition is not None:
        found = found.influenced(influence(by, plan.condition, found.columns))
    return found


@lineage.register
def _union(plan: Union) -> Lineage:
    return _both(lineage(plan.left), lineage(plan.right))


def _both(left: Lineage, right: Lineage) -> Lineage:
    """Rows of both, whose columns have the same names."""
    names = (*left.columns, *(n for n in right.columns if n not in left.columns))
    columns = {name: _column(left, name) | _column(right, name) for name in names}
    return Lineage(columns, left.influences | right.influences, left.reads | right.reads)


@lineage.register
def _set_operation(plan: SetOperation) -> Lineage:
    left, right = lineage(plan.left), lineage(plan.right)
    both = _both(left, right)
    if plan.operator is SetOperator.UNION:
        return both.influenced(_all(both, plan, Transformation.GROUP_BY))
    # The rows are those of the left side.
    found = replace(both, columns=left.columns)
    return found.influenced(_all(both, plan, Transformation.JOIN))


def _all(found: Lineage, plan: Operator, by: Transformation) -> Edges:
    return _NOTHING.union(*(over(by, _column(found, name)) for name in plan.schema.names))


def _column(found: Lineage, name: str) -> Edges:
    return found.columns.get(name, _NOTHING)


@lineage.register
def _over(plan: Over) -> Lineage:
    found = lineage(plan.input)
    made = {call.name: edges_of(call.expression, found.columns) for call in plan.calls}
    by = Transformation.SORT
    order = over(by, _column(found, ROWTIME.name))
    if plan.order is not None:
        order = _NOTHING.union(
            *(influence(by, each.expression, found.columns) for each in plan.order)
        )
    by = Transformation.GROUP_BY
    groups = _NOTHING.union(*(influence(by, key, found.columns) for key in plan.keys))
    # Which rows there are no window decides, but which a value is made of.
    columns = {name: edges | order | groups for name, edges in made.items()}
    return replace(found, columns={**found.columns, **columns})


@lineage.register
def _match(plan: Match) -> Lineage:
    found = lineage(plan.input)
    columns = {
        ROWTIME.name: _column(found, ROWTIME.name),
        **_made(plan.keys, found.columns),
        **{c.name: edges_of(c.expression, found.columns) for c in plan.columns},
    }
    order = over(Transformation.SORT, _column(found, ROWTIME.name))
    read = (influence(Transformation.FILTER, c.expression, found.columns) for c in plan.read)
    matched = replace(found, columns=columns)
    return matched.influenced(_groups(plan.keys, found), order, *read)


# -- rows that become one ------------------------------------------------------------------------


@lineage.register
def _aggregate(plan: Aggregate) -> Lineage:
    found = lineage(plan.input)
    time = _column(found, ROWTIME.name)
    columns = {
        ROWTIME.name: over(Transformation.AGGREGATION, time),
        **_made((*plan.keys, *plan.aggregates), found.columns),
    }
    if plan.window is not None:
        session = plan.window.type is WindowType.SESSION
        by = Transformation.AGGREGATION if session else Transformation.TRANSFORMATION
        columns.update({bound.name: over(by, time) for bound in WINDOW_BOUNDS})
    grouped = replace(found, columns=columns)
    return grouped.influenced(_groups(plan.keys, found), _windows(plan.window, found))


def _groups(keys: Iterable[Named], found: Lineage) -> Edges:
    by = Transformation.GROUP_BY
    return _NOTHING.union(*(influence(by, key.expression, found.columns) for key in keys))


def _windows(window: Window | None, found: Lineage) -> Edges:
    if window is None:
        return _NOTHING
    return over(Transformation.WINDOW, _column(found, ROWTIME.name))


@lineage.register
def _distinct(plan: Distinct) -> Lineage:
    found = lineage(plan.input)
    same = _all(found, plan, Transformation.GROUP_BY)
    return found.influenced(same, _windows(plan.window, found))


@lineage.register
def _top(plan: TopN) -> Lineage:
    found = lineage(plan.input)
    # Numbers and ranks are made of no value, but of the order, which decides about rows, too.
    numbers = {name: _NOTHING for name in (plan.number, plan.rank) if name}
    top = replace(found, columns={**found.columns, **_made(plan.keys, found.columns), **numbers})
    order = (influence(Transformation.SORT, each.expression, found.columns) for each in plan.order)
    return top.influenced(_groups(plan.keys, found), *order)
