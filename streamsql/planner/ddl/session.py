"""SET and UNSET."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import SetProperty, UnsetProperty
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.statements import Planned
from streamsql.properties import settable, validate


@dataclass(frozen=True)
class PropertyPlan(Planned):
    """SET, or UNSET where `value` is None; the name is canonical, the value checked."""

    name: str
    value: str | None


@plan_statement.register
def _(statement: SetProperty, planning: Planning) -> PropertyPlan:
    # An earlier version, whose bounds were others, may have logged the statement.
    bounded = not planning.logged
    name, value = validate(settable(statement.name).name, statement.value, bounded=bounded)
    return PropertyPlan(name, value)


@plan_statement.register
def _(statement: UnsetProperty, planning: Planning) -> PropertyPlan:
    return PropertyPlan(settable(statement.name).name, None)
