"""Takes a query's plan apart into the parts that can change.

The plan is the one after the rules: what these push below state is part of the state.
"""

from __future__ import annotations

from dataclasses import replace

from streamsql.planner.operators import Operator, operators
from streamsql.planner.operators.parts import Part, Place, Reading
from streamsql.planner.plans.needs import needed_columns


def parts_of_plan(root: Operator) -> dict[tuple[Place, str, str], Part]:
    """All parts, those nearest to the sources first."""
    keeping = frozenset(id(node) for node in operators(root) if any(node.stores(root)))
    found: dict[tuple[Place, str, str], Part] = {}
    for part in root.parts(Reading(needed_columns(root), keeping)):
        while part.key in found:
            part = replace(part, name=f"{part.name} again")
        found[part.key] = part
    return found
