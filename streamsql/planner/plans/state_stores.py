"""The state that a plan keeps between records: what it holds, by which key, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from streamsql.nodes import Expression, Window
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.combined import parts_of
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.filter import Filter, remembers_passed
from streamsql.planner.operators.join import Join, JoinKind, JoinWindow
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.over import Over, OverCall
from streamsql.planner.operators.scan import Scan, stored_values
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.calls import COLLECTS_FOR
from streamsql.planner.windows import duration, words
from streamsql.schema import Kind, WindowType
from streamsql.types import quote


@dataclass(frozen=True)
class StateStore:
    """One store of one operator."""

    holds: str
    """What an entry is."""
    key: str
    """What there is an entry for; empty: there is one entry."""
    growth: str
    """What makes it grow, or when entries go."""

    @property
    def text(self) -> str:
        """In one line."""
        by = f", by {self.key}" if self.key else ""
        return f"{self.holds}{by}: {self.growth}"


def state_stores(plan: Operator, root: Operator | None = None) -> tuple[StateStore, ...]:
    """The stores of all operators, those nearest to the sources first; `root` is the whole query's,
    where `plan` is a part of it."""
    return tuple(_stores(plan, root or plan))


def _stores(node: Operator, root: Operator) -> Iterator[StateStore]:
    for source in node.inputs:
        yield from _stores(source, root)
    match node:
        case Scan() if stored_values(node):
            yield _unavailable(node)
        case Aggregate():
            yield from _aggregate(node)
        case Join():
            yield from _JOINS[node.join_kind](node)
        case Filter() if remembers_passed(node, root):
            yield from _table_filter(node)
        case TopN():
            yield from _top(node)
        case Over():
            yield from _over(node)
        case Match():
            yield from _match(node)
        case Distinct():
            yield from _distinct(node)


def _unavailable(plan: Scan) -> StateStore:
    table, columns = _sources(plan), ", ".join(column.name for column in stored_values(plan))
    return StateStore(f"{columns} of {table}", _keys(plan), f"grows with the keys of {table}")


# -- joins ---------------------------------------------------------------------------------------


def _stream_table(plan: Join) -> Iterator[StateStore]:
    table = _sources(plan.right)
    yield StateStore(f"rows of {table}", _parts(plan.right_on), f"grows with the keys of {table}")


def _table_table(plan: Join) -> Iterator[StateStore]:
    left, right = _sources(plan.left), _sources(plan.right)
    yield StateStore(
        f"rows of {left} and of {right}", _equality(plan), "grows with the keys of both"
    )


def _foreign_key(plan: Join) -> Iterator[StateStore]:
    left, right = _sources(plan.left), _sources(plan.right)
    growth = f"grows with the keys of {left}; of each that ever was a few bytes stay"
    yield StateStore(f"rows of {left}", _keys(plan.left), growth)
    yield StateStore(
        f"rows of {right} and the keys of {left} that refer to them",
        _parts(plan.right_on),
        "grows with the keys of both",
    )


def _stream_stream(plan: Join) -> Iterator[StateStore]:
    window = plan.window or JoinWindow(0, 0)
    for side, ms in ((plan.left, window.after_ms), (plan.right, window.before_ms)):
        kept = words(duration(ms + window.lateness_ms))
        growth = "grows for ever" if window.is_forever else f"a row goes {kept} after its time"
        yield StateStore(f"rows of {_sources(side)}", _equality(plan), growth)


_JOINS: dict[JoinKind, Callable[[Join], Iterator[StateStore]]] = {
    JoinKind.STREAM_TABLE: _stream_table,
    JoinKind.TABLE_TABLE: _table_table,
    JoinKind.FOREIGN_KEY: _foreign_key,
    JoinKind.STREAM_STREAM: _stream_stream,
    JoinKind.ROWS: lambda _: iter(()),
}


def _parts(expression: Expression) -> str:
    return ", ".join(map(expression_text, parts_of(expression)))


def _equality(plan: Join) -> str:
    pairs = zip(parts_of(plan.left_on), parts_of(plan.right_on), strict=False)
    return " AND ".join(f"{expression_text(a)} = {expression_text(b)}" for a, b in pairs)


# -- tables --------------------------------------------------------------------------------------


def _table_filter(plan: Filter) -> Iterator[StateStore]:
    holds = f"keys that passed {plan.clause}"
    if isinstance(plan.input, Aggregate) and plan.input.window is not None:
        yield StateStore(holds, f"{_keys(plan)} and window", "goes with the window")
    else:
        yield StateStore(holds, _keys(plan), "grows with their number")


def _aggregate(plan: Aggregate) -> Iterator[StateStore]:
    if plan.input.kind is Kind.TABLE:
        table = _sources(plan.input)
        yield StateStore(f"rows of {table}", _keys(plan.input), f"grows with the keys of {table}")
    keys = ", ".join(key.name for key in plan.keys)
    calls = [
        call.expression.meta.get(COLLECTS_FOR, call.expression.name)
        for call in plan.aggregates
        if _grows(call.expression.name, plan.input.kind)
    ]
    rows = f"; an entry grows with its rows: {', '.join(dict.fromkeys(calls))}" if calls else ""
    if plan.window is not None:
        yield _windows(plan.window, keys, rows)
    else:
        growth = "grows with the number of distinct keys" if keys else "does not grow"
        yield StateStore("aggregates", keys, growth + rows)


def _windows(window: Window, keys: str, rows: str) -> StateStore:
    grace = window.grace.ms if window.grace else 0
    by = f"{keys} and " if keys else ""
    if window.type is WindowType.SESSION:
        kept = words(duration(window.size.ms + grace))
        growth = f"a session goes {kept} after its end"
        return StateStore("aggregates", f"{by}session", growth + rows)
    overlap = ""
    if window.advance is not None:
        most = "up to " if window.type is WindowType.CUMULATING else ""
        overlap = f" ({most}{-(-window.size.ms // window.advance.ms)} windows a row)"
    growth = f"a window goes {f'{words(duration(grace))} after' if grace else 'at'} its end"
    return StateStore("aggregates", f"{by}window{overlap}", growth + rows)


_OF_VALUES = ("_DISTINCT", "_EXACT", "_AGG")
_KEEPS_VALUES = frozenset({"COUNT_DISTINCT", "HISTOGRAM", "MEDIAN", "PERCENTILE"})


def _grows(name: str, kind: Kind) -> bool:
    """Whether an aggregate keeps the values of its rows and not only a result of fixed size."""
    if kind is Kind.TABLE and name in ("ARG_MAX", "ARG_MIN"):
        return True  # the next one must be known when the greatest is taken back
    return name.startswith("COLLECT_") or name.endswith(_OF_VALUES) or name in _KEEPS_VALUES


def _top(plan: TopN) -> Iterator[StateStore]:
    groups = ", ".join(expression_text(key.expression) for key in plan.keys)
    if plan.input.kind is Kind.TABLE:
        table = _sources(plan.input)
        growth = f"grows with the keys of {table}"
        yield StateStore(f"rows of {table}", _keys(plan.input), growth)
        yield StateStore(f"rows of {table} in their order", groups, growth)
        return
    growth = "grows with the number of distinct groups" if groups else "does not grow"
    ties = f", with those that are equal to the last of them by {plan.ranks.value}"
    holds = f"the first {plan.count} rows{ties if plan.rank else ''}"
    yield StateStore(holds, groups, growth)


def _distinct(plan: Distinct) -> Iterator[StateStore]:
    columns = ", ".join(column.name for column in plan.schema)
    if plan.window is None:
        yield StateStore("rows seen", columns, "grows with the number of distinct rows")
    else:
        grace = plan.window.grace.ms if plan.window.grace else 0
        kept = words(duration(grace)) if grace else "no time"
        yield StateStore(
            "rows seen", f"{columns} and window", f"a window goes {kept} after its end"
        )


# -- rows before a row ---------------------------------------------------------------------------


def _over(plan: Over) -> Iterator[StateStore]:
    keys = ", ".join(map(expression_text, plan.keys))
    kept = list(dict.fromkeys(map(_beside, plan.calls)))
    growing = [
        call.expression.name
        for call in plan.calls
        if not call.lag and call.frame.unbounded and _grows(call.expression.name, Kind.STREAM)
    ]
    rows = f"; an entry grows with its rows: {', '.join(growing)}" if growing else ""
    spans = [call.frame.ms for call in plan.calls if call.frame.ms is not None and not call.lag]
    if len(spans) == len(plan.calls):
        ms = max(spans) + (plan.grace_ms or 0)
        growth = f"an entry goes {words(duration(ms))} after its last row"
    else:
        growth = "grows with the number of distinct keys" if keys else "does not grow"
    yield StateStore(" and ".join(kept), keys, growth + rows)
    if plan.grace_ms is not None:
        waits = words(duration(plan.grace_ms)) if plan.grace_ms else "no time"
        yield StateStore("rows that wait for earlier ones", keys, f"a row waits {waits}")


def _match(plan: Match) -> Iterator[StateStore]:
    keys = ", ".join(expression_text(key.expression) for key in plan.keys)
    holds = "rows of matches that have begun"
    if plan.within_ms is None:
        growth = "grows with the number of distinct keys, and with what goes on to match"
        yield StateStore(holds, keys, growth)
    else:
        looks_back = any(c.place is not None and c.place.back for c in plan.all_columns)
        kept = words(duration(plan.within_ms + (plan.grace_ms or 0)))
        growth = f"a row goes {kept} after its time"
        if looks_back:
            growth += ", but for those that PREV may need"
        yield StateStore(holds, keys, growth)
    if plan.grace_ms is not None:
        waits = words(duration(plan.grace_ms)) if plan.grace_ms else "no time"
        yield StateStore("rows that wait for earlier ones", keys, f"a row waits {waits}")


def _beside(call: OverCall) -> str:
    """What is kept for a column of OVER."""
    if call.lag:
        return f"the last {'row' if call.lag == 1 else f'{call.lag} rows'}"
    if call.frame.unbounded:
        return "aggregates"
    if call.frame.rows is not None:
        return f"the last {call.frame.rows} rows" if call.frame.rows else "no row"
    return f"the rows of the last {words(duration(call.frame.ms or 0))}"


# -- names ---------------------------------------------------------------------------------------


def _sources(plan: Operator) -> str:
    """The sources below an operator, by name."""
    if isinstance(plan, (Scan, Derived)):
        return quote(plan.source.name)
    return " joined with ".join(_sources(source) for source in plan.inputs)


def _keys(plan: Operator) -> str:
    return ", ".join(column.name for column in plan.schema.key)
