"""JSON: a record is an object by column names, a lone key column the bare value; JSON_SR: the same
after the id of its JSON Schema in a registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamsql.formats.base import Format, maps_have_text_keys
from streamsql.formats.json_schema import json_columns, json_schema
from streamsql.formats.options import FULL_NAME, SCHEMA_ID
from streamsql.formats.registered import InferredColumns, SchemaText
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


class JsonSchemaFormat(JsonFormat):
    """JSON with its schema in the schema registry."""

    name: ClassVar[str] = "JSON_SR"
    schema_type: ClassVar[str | None] = "JSON"
    takes: ClassVar[frozenset[str]] = frozenset({FULL_NAME, SCHEMA_ID})
    whole_keys: ClassVar[bool] = True

    def schema_of(
        self, columns: Sequence[Column], options: Mapping[str, str], *, wrapped: bool
    ) -> str:
        return json_schema(columns, options.get(FULL_NAME), wrapped=wrapped)

    def columns_of(
        self, schema: SchemaText, options: Mapping[str, str], lone: str | None, *, upper: bool
    ) -> InferredColumns:
        return json_columns(schema, lone, upper=upper)
