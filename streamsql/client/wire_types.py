"""Encoding of types between server and client."""

from __future__ import annotations

from streamsql.types import NULL, PRIMITIVES, SQLType


def type_of_text(text: str) -> SQLType:
    """The type of which `types.to_sql` made the text."""
    known = NULL if text == "NULL" else PRIMITIVES.get(text)
    if known is not None:
        return known
    from streamsql.api.language import parse_type

    return parse_type(text)
