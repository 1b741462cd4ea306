"""The window bounds in a query's result."""

from __future__ import annotations

from sqlglot import exp

from streamsql.planner.operators import Operator, Project
from streamsql.schema import WINDOW_BOUNDS


def window_bounds(root: Operator) -> frozenset[str]:
    """The columns of a query's result that are bounds of its rows' windows, under any name."""
    while not isinstance(root, Project) and len(root.inputs) == 1:
        (root,) = root.inputs
    names = frozenset(bound.name for bound in WINDOW_BOUNDS)
    if not isinstance(root, Project):
        return names & frozenset(root.schema.names)
    items = (*root.key, *root.value)
    return frozenset(
        item.name
        for item in items
        if isinstance(item.expression, exp.Column) and item.expression.name in names
    )
