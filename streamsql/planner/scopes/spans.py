"""Positions of expressions in the statement's text."""

from __future__ import annotations

from streamsql.errors import Span
from streamsql.nodes import Expression


def span_of(expression: Expression) -> Span | None:
    """The position of an expression, or of its first part that has one."""
    for node in expression.walk():
        meta = node.meta
        if "start" in meta and "end" in meta:
            return Span(meta["start"], meta["end"], meta["line"], meta["column"])
    return None
