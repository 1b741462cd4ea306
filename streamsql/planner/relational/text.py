"""A relation as text: an operator a line, its inputs indented below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import Any

from sqlglot import exp

from streamsql.planner.relational.algebra import Field, Relation
from streamsql.types import to_sql


def lines(relation: Relation, depth: int = 0) -> Iterator[str]:
    parts = ((part.name, getattr(relation, part.name)) for part in fields(relation))
    said = (f"{name}={_text(value)}" for name, value in parts if _says(value))
    yield f"{'  ' * depth}{type(relation).__name__} {' '.join(said)}".rstrip()
    for below in relation.inputs:
        yield from lines(below, depth + 1)


def _says(value: Any) -> bool:
    inputs = isinstance(value, tuple) and any(isinstance(each, Relation) for each in value)
    return not (inputs or isinstance(value, Relation) or value in (None, (), False))


def _text(value: Any) -> str:
    match value:
        case Field():
            return f"{value.id} {to_sql(value.type)}"
        case exp.Expr():
            return value.sql()
        case Enum():
            return value.name
        case tuple():
            return f"({', '.join(map(_text, value))})"
    return str(value)
