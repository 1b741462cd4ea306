"""Windows: those of the WINDOW clause, with its defaults filled in, and those of OVER."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.nodes import Duration, Emit, Expression, Window
from streamsql.planner.plans.logical import LogicalPlan, Ordering, Project
from streamsql.schema import WINDOW_BOUNDS, Column, KeyWindow, Namespace, Schema, WindowType
from streamsql.types import type_of

_DAY_MS = Duration.UNITS_MS["DAY"]


@dataclass(frozen=True)
class Frame:
    """Which rows of its partition are beside a row: all before it, or `rows` of them, or those of
    the `ms` before its time. With `peers` also all of the same time."""

    rows: int | None = None
    ms: int | None = None
    peers: bool = False

    @property
    def unbounded(self) -> bool:
        """Whether no row ever leaves it."""
        return self.rows is None and self.ms is None


@dataclass(frozen=True)
class OverCall:
    """A column that OVER makes: of an aggregate's call over a frame; or, with a `lag`, of an
    expression's value so many rows before, else the default's."""

    name: str
    expression: Expression
    frame: Frame = Frame()
    lag: int = 0
    default: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All of its expressions."""
        return (self.expression,) if self.default is None else (self.expression, self.default)


@dataclass(frozen=True)
class Over(LogicalPlan):
    """Rows with columns made of those before them, of the same keys, in the order of their times.

    `grace_ms`: how long a row waits for earlier ones; None: it does not, and one that comes after
    a later one is late. Rows that end may have another `order`; of an empty one all are equal.
    """

    input: LogicalPlan
    keys: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    grace_ms: int | None = None
    order: tuple[Ordering, ...] | None = None

    @cached_property
    def schema(self) -> Schema:
        """The columns of the input, then those of the calls."""
        made = (Column(c.name, type_of(c.expression), Namespace.VALUE) for c in self.calls)
        return Schema((*self.input.schema.columns, *made))


def window_bounds(root: LogicalPlan) -> frozenset[str]:
    """The columns of a query's result that are bounds of the window of its rows, by whatever
    names."""
    while not isinstance(root, Project) and len(root.inputs) == 1:
        (root,) = root.inputs
    names = frozenset(bound.name for bound in WINDOW_BOUNDS)
    if not isinstance(root, Project):
        return names & frozenset(root.schema.names)
    items = (*root.key, *root.value)
    return frozenset(
        item.name
        for item in items
        if isinstance(item.expression, exp.Column) and item.expression.name in names
    )


def complete_window(window: Window, emit: Emit) -> Window:
    """The window with grace and retention (a day, or as long as rows may come) where they are not
    given; PlanError where they contradict each other.

    Without a grace a window waits 24 hours less its size for late rows, but EMIT FINAL, whose
    results nobody wants a day late, none. Of a session the size is the gap.
    """
    size = window.size.ms
    _check_sizes(window)
    default = 0 if emit is Emit.FINAL else max(_DAY_MS - size, 0)
    grace = window.grace.ms if window.grace else default
    if window.retention is None:
        retention = max(_DAY_MS, size + grace)
    else:
        retention = window.retention.ms
        if window.grace is None:
            grace = min(grace, max(retention - size, 0))
        if retention < size + grace:
            raise PlanError(
                f"the window's RETENTION ({text(window.retention)}) is shorter than its size plus "
                f"GRACE PERIOD ({text(duration(size + grace))})",
                hint=f"Write RETENTION {text(duration(size + grace))} or more.",
                span=window.span,
            )
    return replace(
        window,
        grace=window.grace or duration(grace),
        retention=window.retention or duration(retention),
    )


def _check_sizes(window: Window) -> None:
    if window.size.ms <= 0 and window.type is not WindowType.SESSION:
        raise PlanError("the SIZE of a window must be more than zero", span=window.span)
    if window.size.ms <= 0:
        raise PlanError("the gap of a session must be more than zero", span=window.span)
    advance = window.advance.ms if window.advance else 0
    if window.type is WindowType.HOPPING and not 0 < advance <= window.size.ms:
        raise PlanError(
            "the ADVANCE of a hopping window must be more than zero and at most its SIZE",
            span=window.span,
        )
    if window.type is WindowType.CUMULATING and (advance <= 0 or window.size.ms % advance):
        raise PlanError(
            "the SIZE of a cumulating window must be a multiple of its ADVANCE, which is more than "
            "zero",
            hint="The windows of one start end an ADVANCE after each other, the last after SIZE.",
            span=window.span,
        )


def key_window(window: Window) -> KeyWindow:
    """How the keys of the result are written."""
    written = KeyWindow(window.type)
    return written if written.has_end else replace(written, size_ms=window.size.ms)


def duration(ms: int) -> Duration:
    """A duration in the largest unit that holds it exactly."""
    for unit in ("DAY", "HOUR", "MINUTE", "SECOND"):
        if ms and ms % Duration.UNITS_MS[unit] == 0:
            return Duration(ms // Duration.UNITS_MS[unit], unit)
    return Duration(ms, "MILLISECOND")


def text(value: Duration) -> str:
    """`1 HOUR`, `30 SECONDS`."""
    return f"{value.amount} {value.unit}{'' if value.amount == 1 else 'S'}"


def words(value: Duration) -> str:
    """As people say it: `23 HOURS 59 MINUTES`."""
    rest = value.ms
    parts = []
    for unit in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        amount, rest = divmod(rest, Duration.UNITS_MS[unit])
        if amount:
            parts.append(text(Duration(amount, unit)))
    return " ".join(parts) or "0 SECONDS"
