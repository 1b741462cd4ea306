"""CREATE TYPE and DROP TYPE."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Thing
from streamsql.errors import CatalogError, did_you_mean
from streamsql.nodes import (
    CreateType,
    DropType,
)
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange, NothingToDo
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.types import PRIMITIVES, SQLType, to_sql


@dataclass(frozen=True)
class TypePlan(CatalogChange):
    """CREATE TYPE, or DROP TYPE where `type` is None."""

    name: str
    type: SQLType | None

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("type", self.name),) if self.type is not None else ()

    @property
    def ends(self) -> tuple[Thing, ...]:
        return (("type", self.name),) if self.type is None else ()

    @property
    def done(self) -> tuple[str, ...]:
        if self.type is None:
            return (f"Dropped type '{self.name}'",)
        text = to_sql(self.type)
        return (f"Registered custom type with name '{self.name}' and SQL type {text}",)


def plan_create_type(statement: CreateType, catalog: Catalog) -> TypePlan | NothingToDo:
    existing = catalog.types.get(statement.name)
    if existing is not None:
        message = (
            f"Cannot register custom type {statement.name}: "
            f"it is already registered with type {to_sql(existing)}"
        )
        if statement.if_not_exists:
            return NothingToDo(message)
        raise CatalogError(message, hint=f"DROP TYPE {statement.name} first.", span=statement.span)
    if statement.name.upper() in (*PRIMITIVES, "DECIMAL", "ARRAY", "MAP", "STRUCT"):
        raise CatalogError(f"{statement.name} is the name of a built-in type", span=statement.span)
    return TypePlan(statement.name, resolve_type(statement.type, catalog.types, statement.span))


def plan_drop_type(statement: DropType, catalog: Catalog) -> TypePlan | NothingToDo:
    if statement.name in catalog.types:
        return TypePlan(statement.name, None)
    message = f"Type '{statement.name}' does not exist"
    if statement.if_exists:
        return NothingToDo(message)
    raise CatalogError(
        message, hint=did_you_mean(statement.name, catalog.types), span=statement.span
    )


@plan_statement.register
def _(statement: CreateType, planning: Planning) -> TypePlan | NothingToDo:
    return plan_create_type(statement, planning.catalog)


@plan_statement.register
def _(statement: DropType, planning: Planning) -> TypePlan | NothingToDo:
    return plan_drop_type(statement, planning.catalog)


@apply.register
def _(planned: TypePlan, catalog: Catalog) -> None:
    if planned.type is None:
        catalog.types.pop(planned.name, None)
    else:
        catalog.types[planned.name] = planned.type
