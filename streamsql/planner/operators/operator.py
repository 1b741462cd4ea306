"""The base of all operators of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from streamsql.nodes import Expression
from streamsql.schema import Column, Kind, Namespace, Schema
from streamsql.types import type_of


@dataclass(frozen=True)
class Named:
    """An expression and the column it makes."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Ordering:
    """An expression of ORDER BY; nulls come last either way."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class Operator:
    """The base of all operators."""

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The operators it reads: those of its fields that are plans."""
        values = (getattr(self, f.name) for f in fields(self))
        return tuple(value for value in values if isinstance(value, Operator))

    @property
    def kind(self) -> Kind:
        """STREAM: rows are events; TABLE: rows are upserts and deletes by key."""
        return self.inputs[0].kind


def columns_of(items: tuple[Named, ...], namespace: Namespace) -> tuple[Column, ...]:
    return tuple(Column(i.name, type_of(i.expression), namespace) for i in items)


def operators(root: Operator) -> Iterator[Operator]:
    """All operators, the root first."""
    yield root
    for operator in root.inputs:
        yield from operators(operator)
