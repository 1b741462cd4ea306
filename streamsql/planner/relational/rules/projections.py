"""Projections of projections are one; those that change nothing are none."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Project, Relation
from streamsql.planner.relational.dependent import anywhere
from streamsql.planner.relational.expressions import id_of, substituted


def merged(relation: Relation) -> Relation:
    return anywhere(relation, _merged)


def _merged(node: Relation) -> Relation:
    if not isinstance(node, Project) or not node.items:
        return node
    below = node.input
    if isinstance(below, Project) and _cheap(node, below):
        values = {field.id: value for field, value in below.items}
        items = tuple((field, substituted(value, values)) for field, value in node.items)
        return _merged(Project(below.input, items))
    if node.fields == below.fields and all(id_of(value) == field.id for field, value in node.items):
        return below
    return node


def _cheap(node: Project, below: Project) -> bool:
    """Whether no computed expression is computed twice."""
    uses: Counter[str] = Counter()
    for _, value in node.items:
        uses.update(column.name for column in value.find_all(exp.Column))
    return all(uses[field.id] <= 1 or _is_simple(value) for field, value in below.items)


def _is_simple(value: Expression) -> bool:
    return isinstance(value, exp.Column | exp.Literal | exp.Boolean | exp.Null)
