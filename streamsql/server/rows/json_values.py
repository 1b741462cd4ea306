"""Rows as JSON text by SQL type, in ksqlDB's form. Uses streamsql.values, because the json module
does not write exact decimals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from streamsql.results import Value
from streamsql.schema import Schema
from streamsql.types import SQLType, is_null, to_sql
from streamsql.values.nested import json_writer
from streamsql.values.scalars import json_text

__all__ = ["ColumnTexts", "RowWriter", "json_text", "said_of_columns"]


@dataclass(frozen=True)
class ColumnTexts:
    """Column texts and cell writers, shared by responses with the same columns."""

    names: list[str]
    types: list[str]
    write: RowWriter
    about: str
    """The header object of a complete response."""

    @staticmethod
    def of(schema: Schema) -> ColumnTexts:
        """Cached per schema."""
        known = _KNOWN.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        types = [column.type for column in schema]
        names, texts = list(schema.names), [to_sql(t) for t in types]
        about = json_text(said_of_columns(None, names, texts))
        found = ColumnTexts(names, texts, RowWriter(types), about)
        if len(_KNOWN) >= KEPT:
            _KNOWN.clear()
        _KNOWN[id(schema)] = schema, found
        return found


def said_of_columns(
    query_id: str | None, names: Sequence[str], types: Sequence[str]
) -> dict[str, object]:
    """Column header; includes the query id for continuous rows."""
    return {"queryId": query_id, "columnNames": names, "columnTypes": types}


KEPT = 1_000
_KNOWN: dict[int, tuple[Schema, ColumnTexts]] = {}
"""By identity: comparing schemas is as expensive as building the texts."""


class RowWriter:
    """Writes rows as JSON arrays."""

    def __init__(self, types: Iterable[SQLType]) -> None:
        form = attrgetter("json")
        self._writers = [json_text if is_null(t) else json_writer(t, form) for t in types]

    def __call__(self, values: Sequence[Value]) -> str:
        cells = zip(self._writers, values, strict=True)
        return "[" + ",".join("null" if v is None else write(v) for write, v in cells) + "]"
