"""Builds windows: the WINDOW clause, and the functions in FROM that mean the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from streamsql.errors import ParseError, Span
from streamsql.nodes import (
    Duration,
    Expression,
    SourceRef,
    TableFunction,
    Window,
    WindowFunction,
)
from streamsql.parser.build.grouping import plain_keys
from streamsql.parser.build.literals import at
from streamsql.parser.build.queries import NO_ALIAS, Alias
from streamsql.schema import WindowType
from streamsql.values.intervals import interval

Source = tuple[str, tuple[Expression, ...]]
"""The name in TABLE name, and its PARTITION BY."""

_USAGE = {
    "TUMBLE": "TUMBLE(TABLE source, DESCRIPTOR(time), INTERVAL '10' MINUTE)",
    "HOP": "HOP(TABLE source, DESCRIPTOR(time), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE)",
    "CUMULATE": "CUMULATE(TABLE source, DESCRIPTOR(time), INTERVAL '1' MINUTE, "
    "INTERVAL '10' MINUTE)",
    "SESSION": "SESSION(TABLE source PARTITION BY key, DESCRIPTOR(time), INTERVAL '10' MINUTE)",
}
"""How each is written: the time between the starts (or ends) of windows comes before their size."""
_TYPES = {
    "TUMBLE": WindowType.TUMBLING,
    "HOP": WindowType.HOPPING,
    "CUMULATE": WindowType.CUMULATING,
    "SESSION": WindowType.SESSION,
}


class WindowBuilder:
    """Makes windows of the grammar's rules."""

    def window(self, span: Span, name: str | None, window: Window) -> Window:
        return window

    def tumbling(
        self, span: Span, size: Duration, retention: Duration | None, grace: Duration | None
    ) -> Window:
        return Window(WindowType.TUMBLING, size, None, retention, grace, span)

    def stepped(
        self,
        span: Span,
        kind: WindowType,
        size: Duration,
        advance: Duration,
        retention: Duration | None,
        grace: Duration | None,
    ) -> Window:
        return Window(kind, size, advance, retention, grace, span)

    def hopping(self, span: Span) -> WindowType:
        return WindowType.HOPPING

    def cumulating(self, span: Span) -> WindowType:
        return WindowType.CUMULATING

    def session(
        self, span: Span, gap: Duration, retention: Duration | None, grace: Duration | None
    ) -> Window:
        return Window(WindowType.SESSION, gap, None, retention, grace, span)

    def retention(self, span: Span, duration: Duration) -> Duration:
        return duration

    grace = window_grace = retention

    # -- in FROM ---------------------------------------------------------------------------------

    def table_call(
        self, span: Span, function: WindowFunction | TableFunction, aliased: Alias | None
    ) -> WindowFunction | TableFunction:
        return self.table_function(span, None, function, None, aliased)

    def table_function(
        self,
        span: Span,
        lateral: bool | None,
        function: WindowFunction | TableFunction,
        ordinality: bool | None,
        aliased: Alias | None,
    ) -> WindowFunction | TableFunction:
        alias, columns = aliased or NO_ALIAS
        if isinstance(function, TableFunction):
            return TableFunction(function.call, alias, columns, bool(ordinality), span)
        if columns or ordinality:
            what = "WITH ORDINALITY" if ordinality else "list of columns"
            raise ParseError(f"a window function of FROM does not accept {what}", span=span)
        return replace(function, alias=alias, span=span)

    def function(self, span: Span, name: str, *arguments: Any) -> WindowFunction | TableFunction:
        given = [argument for argument in arguments if argument is not None]
        if name.upper() in _USAGE:
            return self._windowed(span, name.upper(), given)
        if any(isinstance(argument, tuple) for argument in given):
            raise ParseError(f"{name} takes no TABLE", span=span)
        return TableFunction(at(exp.Anonymous(this=name.upper(), expressions=given), span))

    def _windowed(
        self, span: Span, function: str, arguments: list[Any]
    ) -> WindowFunction | TableFunction:
        stepped = function in ("HOP", "CUMULATE")
        fixed = 4 if stepped else 3
        if len(arguments) == fixed + 1 and not isinstance(arguments[0], tuple):
            # With an offset, which standard SQL has.
            return TableFunction(at(exp.Anonymous(this=function, expressions=arguments), span))
        if len(arguments) != fixed:
            raise _misspelt(function, span)
        source, time, *sizes = arguments
        source_name, keys = _source(source, function, span)
        if keys and function != "SESSION":
            raise ParseError(f"{function} takes no PARTITION BY.", span=span)
        durations = [_duration(size, function, span) for size in sizes]
        advance = durations[0] if stepped else None
        window = Window(_TYPES[function], durations[-1], advance, span=span)
        return WindowFunction(
            SourceRef(source_name, span=span),
            window,
            _time(time, source_name, function, span),
            keys,
        )

    def window_source(
        self, span: Span, name: str, keys: tuple[Expression, ...] | None = None
    ) -> Source:
        return name, keys or ()

    def within_keys(self, span: Span, keys: Expression) -> tuple[Expression, ...]:
        return plain_keys(keys, span)


def _source(argument: Any, function: str, span: Span) -> Source:
    """`TABLE name`, or the name alone."""
    if isinstance(argument, tuple):
        return argument
    if isinstance(argument, exp.Column) and not argument.table:
        return argument.name, ()
    raise _misspelt(function, span)


def _time(argument: Any, source: str, function: str, span: Span) -> str | None:
    """`DESCRIPTOR(column)`, or the column alone, or of its source; None of PROCTIME()."""
    if isinstance(argument, exp.Anonymous) and argument.name == "DESCRIPTOR":
        argument = argument.expressions[0] if len(argument.expressions) == 1 else None
    if isinstance(argument, exp.Anonymous) and argument.name == "PROCTIME":
        if not argument.expressions:
            return None
    if isinstance(argument, exp.Column) and argument.table in ("", source):
        return argument.name
    raise _misspelt(function, span)


def _duration(argument: Any, function: str, span: Span) -> Duration:
    if not isinstance(argument, exp.Interval):
        raise _misspelt(function, span)
    return fixed_duration(argument, "the size of a window", span)


def fixed_duration(argument: Expression, what: str, span: Span) -> Duration:
    """An INTERVAL that is always of the same length; ParseError says what has to be."""
    unit = argument.args.get("unit")
    length = interval(argument.this.name, unit.name if unit else None)
    if length is None or length.months or length.millis < 0:
        raise ParseError(
            f"{what} must be a fixed time, without months or years",
            hint="Give weeks, days, hours, minutes, seconds or milliseconds.",
            span=span,
        )
    if unit is not None and unit.name in Duration.UNITS_MS and argument.this.name.isdecimal():
        return Duration(int(argument.this.name), unit.name)
    units = reversed(Duration.UNITS_MS.items())
    name, ms = next((name, ms) for name, ms in units if length.millis % ms == 0)
    return Duration(length.millis // ms, name)


def _misspelt(function: str, span: Span) -> ParseError:
    return ParseError(
        f"{function} is not written like this.", hint=f"Write {_USAGE[function]}.", span=span
    )
