"""A result as text and as HTML, for printing and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

from streamsql.values.scalars import scalar_of

MOST_ROWS = 100
"""Shown of a result that has more."""
_WIDEST = 60


class Named(Protocol):
    """A column, of which the name is needed."""

    @property
    def name(self) -> str: ...


class Shown(Protocol):
    """The displayed part of a result; rows of a push query are not fetched."""

    @property
    def messages(self) -> Sequence[str]:
        """Messages of the statements."""

    @property
    def text(self) -> str:
        """Preformatted text, such as EXPLAIN's."""

    @property
    def is_push(self) -> bool: ...

    @property
    def columns(self) -> Sequence[Named]: ...

    @property
    def rows(self) -> Sequence[Any]: ...


def as_text(result: Shown) -> str:
    """Messages, and rows as a table."""
    lines = [*result.messages, *result.text.splitlines()]
    if result.is_push:
        return "\n".join([*lines, "(a push query: iterate it)"])
    if not result.columns:
        return "\n".join(lines)
    shown = [[_cell(value) for value in row] for row in result.rows[:MOST_ROWS]]
    table = [[field.name for field in result.columns], *shown]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*table, strict=True)]
    header, *rows = (_line(cells, widths) for cells in table)
    rule = "─┼─".join("─" * width for width in widths)
    return "\n".join([*lines, header, rule, *rows, *_rest(result)])


def as_html(result: Shown) -> str:
    """The result as escaped HTML."""
    above = [*result.messages, *result.text.splitlines()]
    if result.is_push:
        above.append("(a push query: iterate it)")
    parts = [f"<pre>{escape(chr(10).join(above))}</pre>"] if above else []
    if result.columns and not result.is_push:
        head = "".join(f"<th>{escape(field.name)}</th>" for field in result.columns)
        body = "".join(_html_row(row) for row in result.rows[:MOST_ROWS])
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<p>{escape(line)}</p>" for line in _rest(result)]
    return "".join(parts)


def _html_row(row: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>"


def _rest(result: Shown) -> list[str]:
    count = len(result.rows)
    return [f"({MOST_ROWS} of {count} rows)"] if count > MOST_ROWS else []


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = (c if len(c) <= w else c[: w - 1] + "…" for c, w in zip(cells, widths, strict=True))
    return " │ ".join(c.ljust(w) for c, w in zip(cut, widths, strict=True)).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    return str(value) if isinstance(value, (list, dict)) else scalar_of(value).text(value)
