"""Schemas of a registry, and the columns that a format derives from them: plain data.

The executor finds out whether a schema is registered, and under which id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamsql.types import SQLType

InferredColumns = list[tuple[str, SQLType]]


@dataclass(frozen=True)
class SchemaText:
    """A schema: its type as registries name it (AVRO, PROTOBUF, JSON) and its text.

    `references` are the texts of the schemas it refers to, by the name it uses for them.
    """

    type: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)
    id: int | None = None
    """Its id in the registry, if it is registered."""


def upper_name(name: str, upper: bool) -> str:
    """The column's name for a schema's field: unquoted SQL names are upper case."""
    return name.upper() if upper else name
