"""Queries whose condition only selects keys. A lookup of exactly these keys need not evaluate the
condition again, so the program is independent of the keys and is prepared once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.nodes import Expression
from streamsql.planner.operators import Filter, Operator, Project, Scan
from streamsql.planner.plans.routes import KeyLookup
from streamsql.planner.plans.statements import PullPlan
from streamsql.serving.keys import can_look_up


def without_keys(plan: PullPlan) -> PullPlan:
    """The plan without its condition where that names keys only; else the plan itself."""
    root, statement = plan.query.root, plan.statement
    scan = simple_scan(root)
    if scan is None or statement is None or statement.query.where is None:
        return plan
    if not isinstance(plan.route, KeyLookup) or not can_look_up(scan.source):
        return plan
    if not _names_keys_only(statement.query.where, scan.source):
        return plan
    assert isinstance(root, Project)
    query = replace(statement.query, where=None, limit=None)
    return replace(
        plan,
        query=replace(plan.query, root=replace(root, input=scan)),
        statement=replace(statement, query=query),
    )


def simple_scan(root: Operator) -> Scan | None:
    """The scan that is filtered and projected, if there is nothing else."""
    if not isinstance(root, Project):
        return None
    below = root.input
    while isinstance(below, Filter):
        below = below.input
    return below if isinstance(below, Scan) else None


def conjuncts(node: Expression) -> Iterator[Expression]:
    if isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


def _names_keys_only(where: Expression, source: Source) -> bool:
    keys = [c.name for c in source.schema.key]
    named = [_named(condition) for condition in conjuncts(where)]
    return sorted(name or "" for name in named) == sorted(keys)


def _named(condition: Expression) -> str | None:
    """The column that a condition compares with literals, for equality."""
    if isinstance(condition, exp.EQ):
        sides = (condition.left, condition.right)
        column = next((s for s in sides if isinstance(s, exp.Column)), None)
        literals = [s for s in sides if s is not column]
    elif isinstance(condition, exp.In):
        column, literals = condition.this, condition.expressions
    else:
        return None
    if not isinstance(column, exp.Column) or not literals:
        return None
    return column.name if all(isinstance(x, exp.Literal) for x in literals) else None
