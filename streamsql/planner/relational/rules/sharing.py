"""Common subplans: relations that are equal but for the ids of their fields become equal."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Field,
    Project,
    Relation,
    Scan,
    Values,
)
from streamsql.planner.relational.dependent import with_inputs
from streamsql.planner.relational.expressions import column
from streamsql.types import to_sql

_ALONE = (Scan, Values)
"""What is not worth a projection by itself: a source is read once however often it is named."""


def shared(relation: Relation) -> Relation:
    """The relation with the first of equal relations in place of the others, renamed by a
    projection."""
    return _Sharing().of(relation) if _branches(relation) else relation


def _branches(relation: Relation) -> bool:
    """Whether a relation in it has several inputs. Otherwise none is equal to another: each
    contains the next."""
    inputs = relation.inputs
    return len(inputs) > 1 or any(map(_branches, inputs))


class _Sharing:
    def __init__(self) -> None:
        self._known: dict[str, Relation] = {}

    def of(self, node: Relation) -> Relation:
        if isinstance(node, _ALONE) or not node.inputs:
            return node
        text = identity(node)
        known = self._known.get(text)
        if known is not None:
            if known.fields == node.fields:
                return known
            pairs = zip(node.fields, known.fields, strict=True)
            return Project(known, tuple((field, column(own)) for field, own in pairs))
        result = with_inputs(node, self.of)
        self._known[text] = result
        return result


def identity(relation: Relation) -> str:
    """A text that two relations share if they are equal but for the ids of their fields."""
    return _identity(relation)[0]


_KNOWN = "_identity"


def _identity(relation: Relation) -> tuple[str, dict[str, str]]:
    """The text, and what the relation's fields are called in texts of those above it."""
    found: tuple[str, dict[str, str]] | None = relation.__dict__.get(_KNOWN)
    if found is not None:
        return found
    below = [_identity(item) for item in relation.inputs]
    names: dict[str, str] = {}
    for at, (_, inner) in enumerate(below):
        names.update({id: f"{at}.{name}" for id, name in inner.items()})
    parts = [
        _text(getattr(relation, part.name), names)
        for part in fields(relation)
        if not isinstance(getattr(relation, part.name), Relation)
    ]
    inputs = ", ".join(text for text, _ in below)
    text = f"{type(relation).__name__}({'; '.join(parts)})[{inputs}]"
    own = {field.id: str(n) for n, field in enumerate(relation.fields)}
    object.__setattr__(relation, _KNOWN, (text, own))
    return text, own


def _text(value: Any, names: dict[str, str]) -> str:
    if isinstance(value, Field):
        return f"{names.get(value.id, '')}:{to_sql_or_name(value)}"
    if isinstance(value, exp.Expr):
        return _renamed(value, names)
    if isinstance(value, Relation):
        return ""
    if isinstance(value, tuple):
        return f"({', '.join(_text(item, names) for item in value)})"
    return repr(value)


def to_sql_or_name(field: Field) -> str:
    try:
        return to_sql(field.type)
    except KeyError:
        return field.type.sql()


def _renamed(expression: Expression, names: dict[str, str]) -> str:
    copy = expression.copy()
    for found in copy.find_all(exp.Column):
        found.set("this", exp.to_identifier(names.get(found.name, found.name), quoted=True))
    return copy.sql()
