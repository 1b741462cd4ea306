"""PROTOBUF: a message by column names, after its schema id; PROTOBUF_NOSR: the message alone, with
fields numbered in column order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamsql.formats.base import Format, maps_have_text_keys
from streamsql.formats.options import FULL_NAME, NULLABLE, SCHEMA_ID
from streamsql.formats.registered import InferredColumns, SchemaText
from streamsql.schema import Column


class ProtobufNoSrFormat(Format):
    """Protobuf with a schema derived from the columns."""

    name: ClassVar[str] = "PROTOBUF_NOSR"
    wrap_options: ClassVar[frozenset[bool]] = frozenset({True})
    takes: ClassVar[frozenset[str]] = frozenset({NULLABLE})

    def problem(self, columns: Sequence[Column]) -> str | None:
        from streamsql.formats.protobuf_schema import nesting_problem

        for column in columns:
            if not maps_have_text_keys(column.type):
                return f"{self.name} only supports MAP types with STRING keys"
            if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", column.name):
                return f"'{column.name}' is not a name that Protobuf takes"
            nesting = nesting_problem(column.type)
            if nesting is not None:
                return f"{nesting}, column: {column.name}"
        return None

    def schema_of(
        self, columns: Sequence[Column], options: Mapping[str, str], *, wrapped: bool
    ) -> str:
        from streamsql.formats.protobuf_schema import protobuf_schema

        return protobuf_schema(columns, options.get(FULL_NAME), options.get(NULLABLE))


class ProtobufFormat(ProtobufNoSrFormat):
    """Protobuf, its schema in the schema registry."""

    name: ClassVar[str] = "PROTOBUF"
    schema_type: ClassVar[str | None] = "PROTOBUF"
    takes: ClassVar[frozenset[str]] = frozenset({FULL_NAME, SCHEMA_ID, NULLABLE})

    def columns_of(
        self, schema: SchemaText, options: Mapping[str, str], lone: str | None, *, upper: bool
    ) -> InferredColumns:
        from streamsql.formats.protobuf_schema import protobuf_columns

        return protobuf_columns(schema, options.get(FULL_NAME), upper=upper)
