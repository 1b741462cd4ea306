"""Relations written by hand, with expressions as text."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp, parse_one

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Field,
    Growth,
    Relation,
    RelationalPlan,
    Scan,
)
from streamsql.types import SQLType


def scan(source: str, prefix: str, columns: dict[str, SQLType], key: Iterable[str]) -> Scan:
    fields = {name: Field(prefix + name, prefix + name, kind) for name, kind in columns.items()}
    return Scan(source, tuple(fields.items()), Growth.REPLACED, tuple(fields[name] for name in key))


def stream(source: str, prefix: str, columns: dict[str, SQLType]) -> Scan:
    fields = {name: Field(prefix + name, prefix + name, kind) for name, kind in columns.items()}
    return Scan(source, tuple(fields.items()), Growth.APPENDED)


def expression(text: str, of: Relation | Iterable[Field], kind: SQLType) -> Expression:
    """The expression, whose columns have the types of the relation's fields."""
    fields = of.fields if isinstance(of, Relation) else of
    types = {field.id: field.type for field in fields}
    tree = parse_one(text, dialect="spark")
    for column in tree.find_all(exp.Column):
        column.set("this", exp.to_identifier(column.name, quoted=True))
        column.type = types[column.name]
    tree.type = kind
    return tree


def field(relation: Relation, name: str) -> Field:
    return next(f for f in relation.fields if f.id == name)


def plan(root: Relation, output: Iterable[str], key: Iterable[str] | None) -> RelationalPlan:
    keys = None if key is None else tuple(field(root, name) for name in key)
    return RelationalPlan(root, tuple(field(root, name) for name in output), keys)
