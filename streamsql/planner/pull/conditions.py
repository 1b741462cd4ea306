"""The rows of a served table that a WHERE clause can select: all, those of some keys, those of a
range.

The bound may be too wide, never too narrow: the condition is evaluated for every row again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from sqlglot import exp

from streamsql import types
from streamsql.catalog import Source
from streamsql.nodes import Expression
from streamsql.planner.plans.routes import KeyLookup, KeyRange, TableScan, WindowRange
from streamsql.planner.pull.values import NO_VALUE, Unknown, constant_of, fitting
from streamsql.results import Value
from streamsql.schema import WINDOWEND, WINDOWSTART
from streamsql.types import type_of

MAX_DISJUNCTS = 1_000
MAX_KEYS = 10_000
_FLIPPED = {exp.EQ: exp.EQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
_FIRST_SURROGATE = "\ud800"


def lookup_of(conditions: Sequence[Expression], source: Source) -> KeyLookup | KeyRange | TableScan:
    """The keys and windows that contain all rows for which the conditions hold."""
    disjuncts = disjuncts_of(conditions)
    if disjuncts is None:
        return TableScan()
    wanted = [_wanted(atoms, source) for atoms in disjuncts]
    window = _hull([w.window for w in wanted]) if source.is_windowed else None
    if all(w.keys is not None for w in wanted):
        keys = tuple(dict.fromkeys(key for w in wanted for key in w.keys or ()))
        if len(keys) <= MAX_KEYS:
            return KeyLookup(keys, window)
    span = _spanned(wanted)
    return TableScan(window) if span is None else replace(span, window=window)


def disjuncts_of(conditions: Sequence[Expression]) -> list[list[Expression]] | None:
    """The conjunction of the conditions as an OR of ANDs; None if that is too long."""
    found: list[list[Expression]] = [[]]
    for condition in conditions:
        terms = _terms(condition)
        if terms is None or len(found) * len(terms) > MAX_DISJUNCTS:
            return None
        found = [[*left, *right] for left, right in product(found, terms)]
    return found


def _terms(node: Expression) -> list[list[Expression]] | None:
    if isinstance(node, exp.Paren):
        return _terms(node.this)
    if isinstance(node, exp.And):
        return disjuncts_of([node.left, node.right])
    if isinstance(node, exp.Or):
        left, right = _terms(node.left), _terms(node.right)
        if left is None or right is None or len(left) + len(right) > MAX_DISJUNCTS:
            return None
        return [*left, *right]
    return [[node]]


# -- one disjunct --------------------------------------------------------------------------------


@dataclass
class _Bounds:
    """An interval; None: open there."""

    low: Value = None
    high: Value = None
    low_inclusive: bool = True
    high_inclusive: bool = True

    def narrow(self, operator: type[Expression], value: Value) -> None:
        if operator in (exp.EQ, exp.GT, exp.GTE):
            inclusive = operator is not exp.GT
            if self.low is None or (value, not inclusive) > (self.low, not self.low_inclusive):
                self.low, self.low_inclusive = value, inclusive
        if operator in (exp.EQ, exp.LT, exp.LTE):
            inclusive = operator is not exp.LT
            if self.high is None or (value, inclusive) < (self.high, self.high_inclusive):
                self.high, self.high_inclusive = value, inclusive


@dataclass
class _Wanted:
    """Keys and windows of one disjunct; `keys` None: any key."""

    keys: list[tuple[Value, ...]] | None = None
    range: _Bounds | None = None
    window: WindowRange | None = None


@dataclass
class _Atoms:
    """Conditions of a disjunct on key columns and window bounds."""

    values: dict[str, list[Value]] = field(default_factory=dict)
    ranges: dict[str, _Bounds] = field(default_factory=dict)

    def one_of(self, name: str, values: list[Value]) -> None:
        known = self.values.get(name)
        self.values[name] = values if known is None else [v for v in known if v in values]

    def compare(self, name: str, operator: type[Expression], value: Value) -> None:
        self.ranges.setdefault(name, _Bounds()).narrow(operator, value)


def _wanted(parts: Iterable[Expression], source: Source) -> _Wanted:
    columns = {c.name: c.type for c in source.schema.key}
    if source.is_windowed:
        columns |= {c.name: c.type for c in (WINDOWSTART, WINDOWEND)}
    atoms = _Atoms()
    for part in parts:
        _read(part, columns, atoms)
    return _Wanted(_keys(atoms, source), _range(atoms, source), _window(atoms))


def _read(part: Expression, columns: dict[str, types.SQLType], atoms: _Atoms) -> None:
    """Notes a conjunct on one of the columns, and ignores others."""
    if isinstance(part, exp.Paren):
        _read(part.this, columns, atoms)
    elif isinstance(part, exp.Between):
        _compare(exp.GTE, part.this, part.args["low"], columns, atoms)
        _compare(exp.LTE, part.this, part.args["high"], columns, atoms)
    elif isinstance(part, exp.In):
        _in(part, columns, atoms)
    elif type(part) in _FLIPPED and isinstance(part, exp.Binary):
        operator = type(part)
        _compare(operator, part.left, part.right, columns, atoms)
        _compare(_FLIPPED[operator], part.right, part.left, columns, atoms)


def _compare(
    operator: type[Expression],
    side: Expression,
    other: Expression,
    columns: dict[str, types.SQLType],
    atoms: _Atoms,
) -> None:
    name = compared_column(side)
    if name is None or name not in columns:
        return
    kind = columns[name]
    value = constant_of(other)
    if operator is exp.EQ and name not in (WINDOWSTART.name, WINDOWEND.name):
        fitted = fitting(value, type_of(other), kind)
        if fitted is not Unknown.UNKNOWN:
            atoms.one_of(name, [] if fitted is NO_VALUE else [fitted])
    elif kind == types.STRING and isinstance(value, str) and value < _FIRST_SURROGATE:
        if all(character < _FIRST_SURROGATE for character in value):
            # Below the surrogates, UTF-8 and UTF-16 have the same order.
            atoms.compare(name, operator, value)
    elif kind == types.BIGINT and type(value) is int:
        atoms.compare(name, operator, value)


def _in(part: exp.In, columns: dict[str, types.SQLType], atoms: _Atoms) -> None:
    name = compared_column(part.this)
    if name is None or name not in columns or part.args.get("query") is not None:
        return
    found = [fitting(constant_of(i), type_of(i), columns[name]) for i in part.expressions]
    if Unknown.UNKNOWN in found:
        return
    values = [value for value in found if value is not NO_VALUE]
    if name in (WINDOWSTART.name, WINDOWEND.name):
        if values:
            atoms.compare(name, exp.GTE, min(values))  # type: ignore[type-var]
            atoms.compare(name, exp.LTE, max(values))  # type: ignore[type-var]
    else:
        atoms.one_of(name, values)


def compared_column(side: Expression) -> str | None:
    """The column in a side of a comparison; a number may have been widened to compare it."""
    if isinstance(side, exp.Cast) and types.is_numeric(side.to):
        side = side.this
        if not types.is_numeric(type_of(side)):
            return None
    if isinstance(side, exp.Column) and not side.meta.get("lambda"):
        return side.name
    return None


def _keys(atoms: _Atoms, source: Source) -> list[tuple[Value, ...]] | None:
    names = [c.name for c in source.schema.key]
    if any(name not in atoms.values for name in names):
        return None
    count = 1
    for name in names:
        count *= len(atoms.values[name])
    if count > MAX_KEYS:
        return None
    return [tuple(key) for key in product(*(atoms.values[name] for name in names))]


def _range(atoms: _Atoms, source: Source) -> _Bounds | None:
    if len(source.schema.key) != 1 or source.schema.key[0].type != types.STRING:
        return None
    return atoms.ranges.get(source.schema.key[0].name)


# -- all disjuncts together ----------------------------------------------------------------------


def _spanned(wanted: Sequence[_Wanted]) -> KeyRange | None:
    """The range that contains all selected keys; None: unbounded."""
    bounds = []
    for one in wanted:
        if one.keys is not None:
            bounds += [_Bounds(key[0], key[0]) for key in one.keys if len(key) == 1]
            if any(len(key) != 1 or not isinstance(key[0], str) for key in one.keys):
                return None
        elif one.range is None:
            return None
        else:
            bounds.append(one.range)
    if not bounds:
        return None
    lows = [(b.low, not b.low_inclusive) for b in bounds if isinstance(b.low, str)]
    highs = [(b.high, b.high_inclusive) for b in bounds if isinstance(b.high, str)]
    low, low_open = min(lows) if len(lows) == len(bounds) else (None, False)
    high, high_closed = max(highs) if len(highs) == len(bounds) else (None, True)
    if low is None and high is None:
        return None
    return KeyRange(low, high, not low_open, high_closed)


def _window(atoms: _Atoms) -> WindowRange | None:
    start, end = (_millis(atoms.ranges.get(c.name)) for c in (WINDOWSTART, WINDOWEND))
    if start == end == (None, None):
        return None
    return WindowRange(*start, *end)


def _millis(bounds: _Bounds | None) -> tuple[int | None, int | None]:
    if bounds is None:
        return None, None
    low = bounds.low if isinstance(bounds.low, int) else None
    high = bounds.high if isinstance(bounds.high, int) else None
    return (
        low if low is None or bounds.low_inclusive else low + 1,
        high if high is None or bounds.high_inclusive else high - 1,
    )


def _hull(windows: Sequence[WindowRange | None]) -> WindowRange | None:
    given = [window for window in windows if window is not None]
    if len(given) < len(windows) or not given:
        return None
    hull = WindowRange(
        _outermost(min, [w.start_from for w in given]),
        _outermost(max, [w.start_to for w in given]),
        _outermost(min, [w.end_from for w in given]),
        _outermost(max, [w.end_to for w in given]),
    )
    return None if hull == WindowRange() else hull


def _outermost(choose: object, values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    return min(known) if choose is min else max(known)
