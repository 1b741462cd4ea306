"""Windows of the WINDOW clause, with their defaults, and durations as text."""

from __future__ import annotations

from dataclasses import replace

from streamsql.errors import PlanError
from streamsql.nodes import Duration, Emit, Window
from streamsql.schema import KeyWindow, WindowType

STEP = "$WINDOW"
"""The hidden column that distinguishes a row's windows: starts of hopping ones, ends of cumulating
ones."""

_DAY_MS = Duration.UNITS_MS["DAY"]


def complete_window(window: Window, emit: Emit) -> Window:
    """The window with default grace and retention (a day, or as long as rows may arrive); PlanError
    if they contradict each other.

    Without a grace a window waits 24 hours less its size for late rows; with EMIT FINAL, whose
    results would come a day late, it does not wait. The size of a session is its gap.
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


def span_text(ms: int) -> str:
    """`23 HOURS 59 MINUTES`."""
    rest = ms
    parts = []
    for unit in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        amount, rest = divmod(rest, Duration.UNITS_MS[unit])
        if amount:
            parts.append(text(Duration(amount, unit)))
    return " ".join(parts) or "0 SECONDS"


def window_text(window: Window) -> str:
    advance = f" ADVANCE BY {span_text(window.advance.ms)}" if window.advance else ""
    rest = f"{_option('GRACE', window.grace)}{_option('RETENTION', window.retention)}"
    return f"{window.type.value} {span_text(window.size.ms)}{advance}{rest}"


def grace_text(ms: int | None) -> str:
    return "" if ms is None else f" GRACE {span_text(ms)}"


def _option(name: str, value: Duration | None) -> str:
    return "" if value is None else f" {name} {span_text(value.ms)}"
