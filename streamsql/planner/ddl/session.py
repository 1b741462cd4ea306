"""Statements that do not change the catalog: SET, UNSET and CREATE CONNECTOR."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import CreateConnector, SetProperty, UnsetProperty
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.statements import NothingToDo, OtherPlan, Planned
from streamsql.properties import foreign_notice, settable, validate


@dataclass(frozen=True)
class PropertyPlan(Planned):
    """SET, or UNSET where `value` is None; the name is canonical, the value checked."""

    name: str
    value: str | None


class ForeignProperty(NothingToDo):
    """SET or UNSET of a setting of other engines; `warning` names the equivalent."""


@plan_statement.register
def _(statement: SetProperty, planning: Planning) -> PropertyPlan | ForeignProperty:
    if notice := foreign_notice(statement.name):
        return ForeignProperty(notice)
    # An earlier version with other bounds may have logged the statement.
    bounded = not planning.logged
    name, value = validate(settable(statement.name).name, statement.value, bounded=bounded)
    return PropertyPlan(name, value)


@plan_statement.register
def _(statement: UnsetProperty, planning: Planning) -> PropertyPlan | ForeignProperty:
    if notice := foreign_notice(statement.name):
        return ForeignProperty(notice)
    return PropertyPlan(settable(statement.name).name, None)


@plan_statement.register
def _(statement: CreateConnector, planning: Planning) -> OtherPlan:
    names = [p.name for p in statement.properties]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if not repeated:
        return OtherPlan(statement)
    given = ", ".join(f"'{name}'" for name in repeated)
    return OtherPlan(statement, f"Given more than once: {given}. The last value is used.")
