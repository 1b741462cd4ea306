"""JSON_SR: JSON behind the id of its JSON Schema in a registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamsql.formats.json import JsonFormat
from streamsql.formats.json_schema import json_columns, json_schema
from streamsql.formats.options import FULL_NAME, SCHEMA_ID
from streamsql.formats.registered import InferredColumns, SchemaText
from streamsql.schema import Column


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
