"""Encoding of types between server and client."""

from __future__ import annotations

from streamsql.types import NULL, PRIMITIVES, SQLType, to_sql


def type_text(t: SQLType | None) -> str | None:
    return None if t is None else to_sql(t)


def type_of_text(text: str | None) -> SQLType | None:
    """The type that `type_text` wrote."""
    if text is None:
        return None
    known = NULL if text == "NULL" else PRIMITIVES.get(text)
    if known is not None:
        return known
    from streamsql.api.language import parse_type

    return parse_type(text)
