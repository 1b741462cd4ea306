"""AVRO: a record by column names, after the id of its schema in a registry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamsql.formats.avro_schema import VALUE_NAME, avro_columns, avro_schema
from streamsql.formats.base import Format, maps_have_text_keys
from streamsql.formats.options import FULL_NAME, SCHEMA_ID
from streamsql.formats.registered import InferredColumns, SchemaText
from streamsql.schema import Column
from streamsql.types import SQLType, element_type, fields, is_array, is_map, is_struct


class AvroFormat(Format):
    """Avro, its schema in the schema registry."""

    name: ClassVar[str] = "AVRO"
    wrap_options: ClassVar[frozenset[bool]] = frozenset({True, False})
    schema_type: ClassVar[str | None] = "AVRO"
    takes: ClassVar[frozenset[str]] = frozenset({FULL_NAME, SCHEMA_ID})
    whole_keys: ClassVar[bool] = True

    def problem(self, columns: Sequence[Column]) -> str | None:
        if not all(maps_have_text_keys(column.type) for column in columns):
            return "Avro only supports MAPs with STRING keys"
        for name in _names([(c.name, c.type) for c in columns]):
            if not re.match("[A-Za-z_]", name):
                return f"Schema is not compatible with Avro: Illegal initial character: {name}"
            if not re.fullmatch("[A-Za-z0-9_]+", name):
                return f"Schema is not compatible with Avro: Illegal character in: {name}"
        return None

    def schema_of(
        self, columns: Sequence[Column], options: Mapping[str, str], *, wrapped: bool
    ) -> str:
        return avro_schema(columns, options.get(FULL_NAME, VALUE_NAME), wrapped=wrapped)

    def columns_of(
        self, schema: SchemaText, options: Mapping[str, str], lone: str | None, *, upper: bool
    ) -> InferredColumns:
        return avro_columns(schema, lone, upper=upper)


def _names(members: Sequence[tuple[str, SQLType]]) -> list[str]:
    """The names of all fields, those inside of types too."""
    found = []
    for name, kind in members:
        found.append(name)
        while is_array(kind) or is_map(kind):
            kind = element_type(kind)
        if is_struct(kind):
            found += _names(fields(kind))
    return found
