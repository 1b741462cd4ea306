"""Shared parts of SQL generators: dispatch by node class, and joining of pieces."""

from __future__ import annotations

from functools import singledispatch

from streamsql.errors import InternalError


@singledispatch
def to_sql(node: object) -> str:
    """Canonical SQL of a statement (without `;`), a query, an expression or a type."""
    raise InternalError(f"no SQL text for {type(node).__name__}")


def words(*parts: object) -> str:
    """The texts of the parts, without absent ones (None, False, ())."""
    return " ".join(part for part in parts if isinstance(part, str) and part)


def listed(*items: str) -> str:
    """The items between parentheses, a comma between them."""
    return f"({', '.join(items)})"
