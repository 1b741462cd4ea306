"""Keys of relations, and the fields that others determine."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Recursion,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    TemporalJoin,
    TopRows,
    Values,
    WindowFunctions,
)
from streamsql.planner.relational.dependent import DependentJoin
from streamsql.planner.relational.expressions import id_of

Key = frozenset[str]
"""Ids of fields."""
_MOST = 8
"""Keys that are considered of one relation."""


def keys(relation: Relation) -> tuple[Key, ...]:
    """Sets of fields, by their ids, of which no two rows have the same values. The empty set: there
    is at most one row."""
    return _least(_keys(relation))


def _keys(relation: Relation) -> list[Key]:
    match relation:
        case Scan(key=key):
            return [frozenset(field.id for field in key)] if key else []
        case Values(rows):
            return [frozenset()] if len(rows) <= 1 else []
        case Filter(input):
            return list(keys(input))
        case WindowFunctions(input):
            return list(keys(input))
        case Project():
            return _renamed(relation)
        case Join() | DependentJoin() | TemporalJoin():
            return _joined(relation)
        case Aggregate():
            grouped = frozenset(field.id for field in relation.keys)
            inner = [key for key in keys(relation.input) if key <= grouped]
            return [*inner, grouped]
        case AtMostOne():
            return [*keys(relation.input), frozenset(f.id for f in relation.partition)]
        case TopRows():
            own = list(keys(relation.input))
            if relation.limit is not None and relation.limit <= 1 and not relation.ties:
                own.append(frozenset(field.id for field in relation.partition))
            return own
        case Generate():
            if relation.ordinality is None:
                return []
            return [key | {relation.ordinality.id} for key in keys(relation.input)]
        case Recursion(distinct=True):
            return [frozenset(field.id for field in relation.columns)]
        case SetOperation(kind=kind):
            if not relation.all:
                return [frozenset(field.id for field in relation.columns)]
            if kind is SetKind.EXCEPT:
                pairs = zip(relation.left.fields, relation.columns, strict=True)
                left = {a.id: b.id for a, b in pairs}
                return [
                    frozenset(left[i] for i in key)
                    for key in keys(relation.left)
                    if key <= left.keys()
                ]
    return []


def _renamed(relation: Project) -> list[Key]:
    names: dict[str, str] = {}
    for field, expression in relation.items:
        name = id_of(expression)
        if name is not None and (name not in names or field.id == name):
            names[name] = field.id
    return [frozenset(names[i] for i in key) for key in keys(relation.input) if key <= names.keys()]


def _joined(relation: Join | DependentJoin | TemporalJoin) -> list[Key]:
    left, right = list(keys(relation.left)), list(keys(relation.right))
    if relation.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    if isinstance(relation, DependentJoin):
        return left if any(not key for key in right) else []
    found = [a | b for a in left for b in right]
    pairs = [(id_of(a), id_of(b)) for a, b in relation.equalities]
    if relation.kind is JoinKind.FULL:
        return found
    equal_left = {a for a, b in pairs if a is not None}
    equal_right = {b for a, b in pairs if b is not None}
    if any(key <= equal_right for key in right):
        found += left
    if isinstance(relation, TemporalJoin):  # a right row is joined under each key that it has had
        return found
    if relation.kind is JoinKind.INNER and any(key <= equal_left for key in left):
        found += right
    return found


def _least(found: list[Key]) -> tuple[Key, ...]:
    """Without those that contain another one."""
    result: list[Key] = []
    for key in sorted(dict.fromkeys(found), key=len):
        if not any(known <= key for known in result):
            result.append(key)
    return tuple(result[:_MOST])


def best(relation: Relation, output: Sequence[Field]) -> tuple[Field, ...] | None:
    """The key to identify rows by: one among the output's fields where there is one."""
    shown = {field.id for field in output}
    fields = {field.id: field for field in relation.fields}
    candidates = sorted(keys(relation), key=lambda key: (not key <= shown, len(key)))
    if not candidates:
        return None
    chosen = candidates[0]
    order = [*output, *relation.fields]
    return tuple(dict.fromkeys(fields[field.id] for field in order if field.id in chosen))


def determined(relation: Relation, by: Sequence[Field]) -> tuple[Field, ...]:
    """The fields that have one value for each of the given ones': the columns of a table with the
    primary key among these."""
    given = {field.id for field in by}
    found: dict[str, None] = {}

    def look(node: Relation) -> None:
        match node:
            case Scan():
                if node.key and {field.id for field in node.key} <= given:
                    found.update(dict.fromkeys(field.id for field in node.fields))
            case Join() | DependentJoin():
                look(node.left)
                look(node.right)
            case TemporalJoin():
                look(node.left)
            case Filter(input) | Project(input):
                look(input)

    look(relation)
    return tuple(field for field in relation.fields if field.id in found)
