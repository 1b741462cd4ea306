"""Relations between binding and decorrelation: joins whose right side refers to the left one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Field, JoinKind, Relation
from streamsql.planner.relational.expressions import ids_in

R = TypeVar("R", bound=Relation)


@dataclass(frozen=True)
class DependentJoin(Relation):
    """Each left row with the rows that the right side has for it. Decorrelation leaves none."""

    left: Relation
    right: Relation
    kind: JoinKind
    condition: Expression | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.fields
        return self.left.fields + self.right.fields


def expressions(relation: Relation) -> Iterator[Expression]:
    """The expressions of one operator, without those of its inputs."""
    for part in fields(relation):
        yield from _expressions(getattr(relation, part.name))


def _expressions(value: Any) -> Iterator[Expression]:
    if isinstance(value, exp.Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


def with_expressions(relation: R, change: Callable[[Expression], Expression]) -> R:
    """The operator with its expressions changed; those of its inputs stay."""

    def of(value: Any) -> Any:
        if isinstance(value, exp.Expr):
            return change(value)
        if isinstance(value, tuple):
            return tuple(of(item) for item in value)
        return value

    changed = {part.name: of(getattr(relation, part.name)) for part in fields(relation)}
    return replace(relation, **changed)


def with_inputs(relation: R, change: Callable[[Relation], Relation]) -> R:
    """The operator with its inputs changed."""

    def of(value: Any) -> Any:
        if isinstance(value, Relation):
            return change(value)
        if isinstance(value, tuple) and value and isinstance(value[0], Relation):
            return tuple(change(item) for item in value)
        return value

    changed = {part.name: of(getattr(relation, part.name)) for part in fields(relation)}
    same = all(changed[part.name] is getattr(relation, part.name) for part in fields(relation))
    return relation if same else replace(relation, **changed)


def used(relation: Relation) -> frozenset[str]:
    """The ids of the fields that the relation and those below it name."""
    return _sets(relation)[0]


def free(relation: Relation) -> frozenset[str]:
    """The ids that the relation names and has not: those of an outer query."""
    return _sets(relation)[1]


_KNOWN = "_named_and_free"


def _sets(relation: Relation) -> tuple[frozenset[str], frozenset[str]]:
    known = relation.__dict__.get(_KNOWN)
    if known is not None:
        found: tuple[frozenset[str], frozenset[str]] = known
        return found
    named = set(ids_in(*expressions(relation)))
    below: set[str] = set()
    outer: set[str] = set()
    every: set[str] = set(named)
    for item in relation.inputs:
        below |= {field.id for field in item.fields}
        inner_named, inner_free = _sets(item)
        every |= inner_named
        outer |= inner_free
    if isinstance(relation, DependentJoin):
        outer -= {field.id for field in relation.left.fields}
    result = frozenset(every), frozenset(outer | (named - below))
    object.__setattr__(relation, _KNOWN, result)
    return result


def anywhere(relation: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """The relation with everything in it changed, the innermost first."""
    return change(with_inputs(relation, lambda below: anywhere(below, change)))
