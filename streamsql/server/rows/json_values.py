"""Rows as JSON text, by their SQL types: the form in which ksqlDB answers.

The text is made by streamsql.values because Python's own writer has no exact decimals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from streamsql.results import Value
from streamsql.types import SQLType, is_null
from streamsql.values.nested import json_writer
from streamsql.values.scalars import json_text

__all__ = ["RowWriter", "json_text"]


class RowWriter:
    """Writes the cells of rows of certain types as a JSON array."""

    def __init__(self, types: Iterable[SQLType]) -> None:
        form = attrgetter("json")
        self._writers = [json_text if is_null(t) else json_writer(t, form) for t in types]

    def __call__(self, values: Sequence[Value]) -> str:
        cells = zip(self._writers, values, strict=True)
        return "[" + ",".join("null" if v is None else write(v) for write, v in cells) + "]"
