"""The items of clauses: expressions with their columns, and those of ORDER BY."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.nodes import Expression
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import Column, Namespace
from streamsql.types import quote, type_of


@dataclass(frozen=True)
class Named:
    """An expression and its column."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Ordering:
    """An expression of ORDER BY; nulls sort last in both directions."""

    expression: Expression
    descending: bool = False


def columns_of(items: tuple[Named, ...], namespace: Namespace) -> tuple[Column, ...]:
    return tuple(Column(i.name, type_of(i.expression), namespace) for i in items)


def named_text(items: Iterable[Named]) -> str:
    """`A, B + 1 AS C`; `none`."""
    return ", ".join(_named(item) for item in items) or "none"


def _named(item: Named) -> str:
    text = expression_text(item.expression)
    name = quote(item.name)
    return text if text in (name, item.name) else f"{text} AS {name}"


def order_text(orders: Iterable[Ordering]) -> str:
    """`A DESC, B`."""
    return ", ".join(
        expression_text(o.expression) + (" DESC" if o.descending else "") for o in orders
    )
