"""Columns of cells to JSON objects and to delimited lines, computed by Arrow, not cell by cell."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_INTEGER = r"^-?[0-9]+$"
_BOOLEAN = r"^(?i:true|false)$"
_INT_MAX = 2**31 - 1


@dataclass(frozen=True)
class Cells:
    """A column: its cells as JSON text, as plain text, and as what they are."""

    column: Any
    """The Arrow array that was read."""
    json: Any
    """An Arrow array of JSON fragments, null where the cell is."""
    text: Any
    """An Arrow array of plain text, null where the cell is."""
    sql_type: str | None
    """None while every cell was null."""

    def values(self) -> list[object]:
        """The cells for a key or a timestamp: numbers, booleans and text as such."""
        if self.sql_type in ("INT", "BIGINT", "BOOLEAN"):
            return [None if c is None else json.loads(c) for c in self.json.to_pylist()]
        cells: list[object] = self.column.to_pylist()
        return cells


def of_text(column: Any, known: str | None) -> Cells:
    """A column of text; `known` is its type as earlier blocks showed it, None at first."""
    from pyarrow import compute as pc

    if column.null_count == len(column):
        return Cells(column, column, column, known)
    if known in (None, "INT", "BIGINT", "DOUBLE"):
        fits = pc.match_substring_regex(column, _NUMBER)
        if pc.all(fits).as_py():
            return Cells(column, column, column, _number_type(column))
        if known is not None:
            return Cells(column, pc.if_else(fits, column, quoted(column)), column, "STRING")
    if known in (None, "BOOLEAN"):
        fits = pc.match_substring_regex(column, _BOOLEAN)
        if pc.all(fits).as_py():
            lower = pc.utf8_lower(column)
            return Cells(column, lower, lower, "BOOLEAN")
    return Cells(column, quoted(column), column, "STRING")


def _number_type(column: Any) -> str:
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pc.all(pc.match_substring_regex(column, _INTEGER)).as_py():
        return "DOUBLE"
    try:
        bounds = pc.min_max(column.cast(pa.int64())).as_py()
    except pa.ArrowInvalid:
        return "DOUBLE"
    return "INT" if max(bounds["max"], -bounds["min"]) <= _INT_MAX else "BIGINT"


def of_arrow(column: Any) -> Cells:
    """A column of a typed file, written as streams read it: times in ms, dates in days."""
    import pyarrow as pa
    from pyarrow import compute as pc

    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return of_arrow(column.dictionary_decode())
    if types.is_integer(kind):
        text = column.cast(pa.string())
        return Cells(column, text, text, "INT" if kind.bit_width <= 32 else "BIGINT")
    if types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        text = column.cast(pa.string())
        return Cells(column, text, text, "DOUBLE")
    if types.is_decimal(kind):
        text = pa.array([None if c is None else format(c, "f") for c in column.to_pylist()])
        return Cells(column, text, text, f"DECIMAL({kind.precision}, {kind.scale})")
    if types.is_boolean(kind):
        text = column.cast(pa.string())
        return Cells(column, text, text, "BOOLEAN")
    if types.is_timestamp(kind):
        text = column.cast(pa.timestamp("ms", kind.tz), safe=False).cast(pa.int64())
        return Cells(column, *(text.cast(pa.string()),) * 2, "TIMESTAMP")
    if types.is_date(kind):
        text = column.cast(pa.date32()).cast(pa.int32()).cast(pa.string())
        return Cells(column, text, text, "DATE")
    if types.is_time(kind):
        text = column.cast(pa.time32("ms"), safe=False).cast(pa.int32()).cast(pa.string())
        return Cells(column, text, text, "TIME")
    return _of_other(column)


def _of_other(column: Any) -> Cells:
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        column = column.cast(pa.string())
        return Cells(column, quoted(column), column, "STRING")
    cells = column.to_pylist()
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        coded = [None if c is None else base64.b64encode(c).decode() for c in cells]
        text = pa.array(coded, pa.string())
        return Cells(column, quoted(text), text, "BYTES")
    if types.is_map(kind):
        cells = [None if c is None else dict(c) for c in cells]
    dumped = [None if c is None else json.dumps(c, ensure_ascii=False, default=str) for c in cells]
    text = pa.array(dumped, pa.string())
    return Cells(column, text, text, _nested_type(kind))


def _nested_type(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_map(kind):
        return f"MAP<STRING, {_nested_type(kind.item_type)}>"
    if types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{f.name} {_nested_type(f.type)}' for f in kind)}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"ARRAY<{_nested_type(kind.value_type)}>"
    if types.is_integer(kind):
        return "INT" if kind.bit_width <= 32 else "BIGINT"
    if types.is_floating(kind):
        return "DOUBLE"
    return "BOOLEAN" if types.is_boolean(kind) else "STRING"


def quoted(column: Any) -> Any:
    """Text as JSON strings."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if pc.any(pc.match_substring_regex(column, r"[\x00-\x1f]")).as_py():
        cells = column.to_pylist()
        return pa.array(
            [None if c is None else json.dumps(c, ensure_ascii=False) for c in cells], pa.string()
        )
    if pc.any(pc.match_substring(column, "\\")).as_py():
        column = pc.replace_substring(column, "\\", "\\\\")
    if pc.any(pc.match_substring(column, '"')).as_py():
        column = pc.replace_substring(column, '"', '\\"')
    return pc.binary_join_element_wise('"', column, '"', "")


def json_values(columns: Mapping[str, Cells]) -> list[bytes]:
    """One JSON object a row, with every column, nulls too."""
    parts: list[Any] = []
    for name, cells in columns.items():
        parts.append(("," if parts else "{") + json.dumps(name, ensure_ascii=False) + ":")
        parts.append(cells.json)
    return _joined([*parts, "}"], "null")


def delimited_values(columns: Sequence[Cells]) -> list[bytes]:
    """One line of comma-separated cells a row; an empty cell is a null."""
    from pyarrow import compute as pc

    parts: list[Any] = []
    for cells in columns:
        text = cells.text
        special = pc.match_substring_regex(text, r'[,"\r\n]')
        if pc.any(special).as_py():
            doubled = pc.replace_substring(text, '"', '""')
            text = pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), text)
        parts += ([","] if parts else []) + [text]
    return _joined(parts, "")


def _joined(parts: Sequence[Any], null: str) -> list[bytes]:
    import pyarrow as pa
    from pyarrow import compute as pc

    rows = pc.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement=null)
    values: list[bytes] = rows.cast(pa.binary()).to_pylist()
    return values
