"""Tables that fit the terminal: widths, alignment, wrapping. Pure: values in, lines out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from streamsql.cli.terminal.style import Style
from streamsql.cli.terminal.values import NULL, printable, to_text
from streamsql.results import Field, Row, Value

MIN_WIDTH = 6
MAX_LINES = 12
"""Lines that one cell may take in a complete result."""
ELLIPSIS = "…"
TOMBSTONE = "<TOMBSTONE>"
"""Shown in the value columns of a row that deletes a key."""
_LIVE_WIDTHS = {"INTEGER": 9, "BIGINT": 13, "DOUBLE": 12, "BOOLEAN": 5, "DATE": 10, "TIME": 12}
_LIVE_WIDTHS["TIMESTAMP"] = 23
_NUMBERS = ("INTEGER", "BIGINT", "DECIMAL(", "DOUBLE")
_TEXT_WIDTH = 14
_TEXT_MAX = 40


@dataclass(frozen=True)
class Layout:
    """Widths and alignment of columns; `vertical` where they cannot stand side by side."""

    widths: tuple[int, ...]
    right: tuple[bool, ...]
    vertical: bool = False


def complete_table(
    fields: Sequence[Field],
    rows: Sequence[Sequence[Value]],
    width: int,
    style: Style,
    column_width: int = 0,
) -> list[str]:
    """All lines of a complete result: header, rule, rows with long cells wrapped."""
    cells = [[_cell(value) for value in row] for row in rows]
    layout = _fit(fields, rows, cells, width, column_width)
    if layout.vertical:
        return _vertical(fields, cells, width, style)
    lines = header(fields, layout, style)
    for row in cells:
        lines += _wrapped(row, layout, style)
    return lines


def header(fields: Sequence[Field], layout: Layout, style: Style) -> list[str]:
    """The names, cut where they must be, and the rule below them."""
    names = [
        style.header(_pad(_cut(field.name, width), width, right))
        for field, width, right in zip(fields, layout.widths, layout.right, strict=True)
    ]
    bar = style.frame("│")
    rule = style.frame("┼".join("─" * (width + 2) for width in layout.widths)[:-1])
    return [" " + f" {bar} ".join(names).rstrip(), rule]


def live_layout(
    fields: Sequence[Field], width: int, seen: Sequence[Row] = (), column_width: int = 0
) -> Layout:
    """Widths for rows that are still to come: by the names, the types and the rows seen."""
    right = tuple(_is_number(f, [row.values[i] for row in seen]) for i, f in enumerate(fields))
    if column_width:
        return Layout(tuple(column_width for _ in fields), right)
    natural = []
    for i, field in enumerate(fields):
        usual = _LIVE_WIDTHS.get(field.type_name or "", _TEXT_WIDTH)
        found = max((_len(_cell(row.values[i])) for row in seen), default=0)
        natural.append(max(_len(field.name), usual if not seen else min(usual, found + 4), found))
    limit = max(_TEXT_MAX, width // max(len(fields), 1))
    natural = [w if number else min(w, limit) for w, number in zip(natural, right, strict=True)]
    room = _room(len(fields), width)
    if len(fields) > 1 and room < MIN_WIDTH * len(fields):
        return Layout(tuple(natural), right, vertical=True)
    if not seen:
        natural = _grown(natural, [not number for number in right], room)
    return Layout(tuple(_shrunk(natural, room)), right)


def _grown(widths: Sequence[int], text: Sequence[bool], room: int) -> list[int]:
    """Text columns share what room is left, before it is known what they will hold."""
    texts = sum(text)
    spare = max(room - sum(widths), 0) // texts if texts else 0
    grown = min(spare, _TEXT_MAX - _TEXT_WIDTH)
    return [w + grown if is_text else w for w, is_text in zip(widths, text, strict=True)]


def live_row(
    fields: Sequence[Field], row: Row, layout: Layout, width: int, style: Style
) -> list[str]:
    """The lines of one row of a push query: one line, long text cut."""
    null = TOMBSTONE if row.tombstone else NULL
    cells = [null if value is None else _cell(value) for value in row.values]
    if layout.vertical:
        return _vertical(fields, [cells], width, style)
    parts = []
    for cell, value, size, right in zip(
        cells, row.values, layout.widths, layout.right, strict=True
    ):
        # A number that was cut would be another number: it may stand out of its column instead.
        text = cell if right and value is not None else _cut(cell, size)
        padded = _pad(text, size, right)
        parts.append(style.null(padded) if value is None else padded)
    return [" " + f" {style.frame('│')} ".join(parts).rstrip()]


def _cell(value: Value) -> str:
    return NULL if value is None else printable(to_text(value))


def _is_number(field: Field, values: Sequence[Value]) -> bool:
    if field.type_name is not None:
        return field.type_name.startswith(_NUMBERS)
    known = [v for v in values if v is not None]
    return bool(known) and all(
        isinstance(v, (int, float, Decimal)) and not isinstance(v, bool) for v in known
    )


def _fit(
    fields: Sequence[Field],
    rows: Sequence[Sequence[Value]],
    cells: Sequence[Sequence[str]],
    width: int,
    column_width: int,
) -> Layout:
    right = tuple(_is_number(f, [row[i] for row in rows]) for i, f in enumerate(fields))
    natural = [
        max([_len(field.name), *(_len(row[i]) for row in cells)]) for i, field in enumerate(fields)
    ]
    if column_width:
        return Layout(tuple(column_width for _ in fields), right)
    room = _room(len(fields), width)
    if sum(natural) > room and room < sum(min(w, MIN_WIDTH * 2) for w in natural):
        return Layout(tuple(natural), right, vertical=True)
    return Layout(tuple(_shrunk(natural, room)), right)


def _room(columns: int, width: int) -> int:
    """Width for cells, without the margins and the ` │ ` between columns."""
    return width - 1 - 3 * (columns - 1) if columns else width


def _shrunk(widths: Sequence[int], room: int) -> list[int]:
    """The widest columns give way until all fit."""
    if sum(widths) <= room:
        return list(widths)
    low, high = 1, max(widths)
    while low < high:
        cap = (low + high + 1) // 2
        if sum(min(w, cap) for w in widths) <= room:
            low = cap
        else:
            high = cap - 1
    shrunk = [min(w, low) for w in widths]
    spare = room - sum(shrunk)
    for i, w in enumerate(widths):
        if spare > 0 and shrunk[i] < w:
            shrunk[i] += 1
            spare -= 1
    return shrunk


def _wrapped(row: Sequence[str], layout: Layout, style: Style) -> list[str]:
    columns = [_wrap(cell, width) for cell, width in zip(row, layout.widths, strict=True)]
    lines = []
    for i in range(max(map(len, columns), default=0)):
        parts = []
        for cell, column, width, right in zip(
            row, columns, layout.widths, layout.right, strict=True
        ):
            text = _pad(column[i] if i < len(column) else "", width, right)
            parts.append(style.null(text) if cell == NULL else text)
        lines.append(" " + f" {style.frame('│')} ".join(parts).rstrip())
    return lines


def _wrap(cell: str, width: int) -> list[str]:
    if _len(cell) <= width:
        return [cell]
    lines: list[str] = []
    rest = cell
    while rest and len(lines) < MAX_LINES:
        piece = _head(rest, width)
        if len(piece) < len(rest) and len(lines) == MAX_LINES - 1:
            lines.append(_cut(rest, width))
            break
        blank = piece.rfind(" ") + 1
        if len(piece) < len(rest) and blank > len(piece) // 2 and rest[len(piece)] != " ":
            piece = piece[:blank]
        lines.append(piece.rstrip())
        rest = rest[len(piece) :].lstrip(" ")
    return lines


def _vertical(
    fields: Sequence[Field], rows: Sequence[Sequence[str]], width: int, style: Style
) -> list[str]:
    """A line a column, for results with more columns than fit."""
    names = max((_len(field.name) for field in fields), default=0)
    room = max(width - names - 4, MIN_WIDTH * 2)
    lines: list[str] = []
    for row in rows:
        lines.append(style.frame("─" * min(width - 1, names + 40)))
        for field, cell in zip(fields, row, strict=True):
            bar = style.frame("│")
            for i, piece in enumerate(_wrap(cell, room)):
                name = _pad(field.name if i == 0 else "", names, False)
                shown = style.null(piece) if cell == NULL else piece
                lines.append(f" {style.header(name)} {bar} {shown}")
    return lines


def _len(text: str) -> int:
    if text.isascii():
        return len(text)
    import wcwidth

    return wcwidth.width(text)


def _head(text: str, width: int) -> str:
    """As much of the text as is `width` cells wide, one character at the least."""
    if text.isascii():
        return text[: max(width, 1)]
    end = 1
    while end < len(text) and _len(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _cut(text: str, width: int) -> str:
    return text if _len(text) <= width else _head(text, width - 1) + ELLIPSIS


def _pad(text: str, width: int, right: bool) -> str:
    blanks = " " * max(width - _len(text), 0)
    return blanks + text if right else text + blanks
