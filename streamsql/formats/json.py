"""JSON: a record is an object by column names; a lone key column is the bare value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamsql.formats.base import Format, maps_have_text_keys
from streamsql.schema import Column


class JsonFormat(Format):
    """A JSON object, or the value of a lone column."""

    name: ClassVar[str] = "JSON"
    remedy: ClassVar[str | None] = "Declare the map's keys as STRING."
    wrap_options: ClassVar[frozenset[bool]] = frozenset({True, False})

    def problem(self, columns: Sequence[Column]) -> str | None:
        if all(maps_have_text_keys(column.type) for column in columns):
            return None
        return "JSON only supports MAP types with STRING keys"
