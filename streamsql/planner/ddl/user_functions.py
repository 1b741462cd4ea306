"""CREATE FUNCTION and DROP FUNCTION, and the functions of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, Thing
from streamsql.errors import (
    CatalogError,
    ConfigError,
    StreamSQLError,
    UnsupportedError,
    did_you_mean,
)
from streamsql.functions import REGISTRY
from streamsql.functions.user import (
    SqlFunction,
    UserAggregate,
    UserFunction,
    python_aggregate,
    python_function,
    sql_function,
)
from streamsql.nodes import CreateFunction, DropFunction, Expression
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange, NothingToDo, Touches
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder import sql_functions
from streamsql.planner.relational.binder.expressions import ExpressionBinder
from streamsql.planner.relational.binder.pending import Pending
from streamsql.planner.relational.binder.scopes import Scope
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.properties import CREATE_OR_REPLACE, get_bool


@dataclass(frozen=True)
class FunctionPlan(CatalogChange):
    """CREATE FUNCTION, or DROP FUNCTION where `statement` is None."""

    name: str
    statement: CreateFunction | None

    @property
    def touches(self) -> Touches:
        return Touches(beyond=True)

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("function", self.name),) if self.statement is not None else ()

    @property
    def ends(self) -> tuple[Thing, ...]:
        return (("function", self.name),) if self.statement is None else ()

    @property
    def done(self) -> tuple[str, ...]:
        if self.statement is None:
            return (f"Function {self.name} was dropped.",)
        return (f"Function {self.name} created",)


def functions_of(catalog: Catalog) -> list[UserFunction | UserAggregate]:
    return [_function(statement) for statement in catalog.functions.values()]


def _function(statement: CreateFunction) -> UserFunction | UserAggregate:
    parameters = [(p.name, p.type) for p in statement.parameters]
    text = to_sql(statement)
    if statement.language == "SQL":
        standard = [(name, typing.standard(kind)) for name, kind in parameters]
        returns = typing.standard(statement.returns)
        return sql_function(statement.name, standard, returns, statement.code, text)
    make = python_aggregate if statement.aggregate else python_function
    return make(statement.name, parameters, statement.returns, statement.code, text)


def _check(statement: CreateFunction) -> None:
    """The text of the function."""
    if statement.language == "SQL" and statement.aggregate:
        raise UnsupportedError(
            "An aggregate function of SQL is not supported.",
            hint="aggregate:name(..) calls a function of an array over the values of a group.",
        )
    function = _function(statement)
    if isinstance(function, SqlFunction):
        sql_functions.check(function, _bound)


def _bound(body: Expression, scope: Scope) -> Expression:
    binder = ExpressionBinder(scope, Pending(), sql_functions.no_query, sql_functions.BODY)
    return binder.bind(body)


def plan_create_function(
    statement: CreateFunction, catalog: Catalog, session: Mapping[str, str]
) -> FunctionPlan | NothingToDo:
    """The function, with custom types resolved; its text is parsed, not run."""
    name = statement.name
    if name in REGISTRY.names or (statement.language == "SQL" and functions.is_built_in(name)):
        raise CatalogError(f"{name} is the name of a built-in function", span=statement.span)
    if statement.or_replace and get_bool(session, CREATE_OR_REPLACE) is False:
        raise ConfigError(
            f"Cannot CREATE OR REPLACE: it is switched off by '{CREATE_OR_REPLACE}'",
            span=statement.span,
        )
    if name in catalog.functions and not statement.or_replace:
        message = f"Cannot add function {name}: A function with the same name already exists"
        if statement.if_not_exists:
            return NothingToDo(message)
        raise CatalogError(message, hint="Use CREATE OR REPLACE FUNCTION.", span=statement.span)
    resolved = replace(
        statement,
        parameters=tuple(
            replace(p, type=resolve_type(p.type, catalog.types, p.span))
            for p in statement.parameters
        ),
        returns=resolve_type(statement.returns, catalog.types, statement.span),
    )
    try:
        _check(resolved)
    except StreamSQLError as error:
        error.span = error.span or statement.span
        raise
    return FunctionPlan(name, resolved)


def plan_drop_function(statement: DropFunction, catalog: Catalog) -> FunctionPlan | NothingToDo:
    """Existing queries keep the function."""
    if statement.name in catalog.functions:
        return FunctionPlan(statement.name, None)
    if statement.name in REGISTRY.names:
        raise CatalogError(
            f"{statement.name} is a built-in function, which cannot be dropped",
            span=statement.span,
        )
    message = f"Function {statement.name} does not exist."
    if statement.if_exists:
        return NothingToDo(message)
    raise CatalogError(
        message, hint=did_you_mean(statement.name, catalog.functions), span=statement.span
    )


@plan_statement.register
def _(statement: CreateFunction, planning: Planning) -> FunctionPlan | NothingToDo:
    return plan_create_function(statement, planning.catalog, planning.session)


@plan_statement.register
def _(statement: DropFunction, planning: Planning) -> FunctionPlan | NothingToDo:
    return plan_drop_function(statement, planning.catalog)


@apply.register
def _(planned: FunctionPlan, catalog: Catalog) -> None:
    if planned.statement is None:
        catalog.functions.pop(planned.name, None)
    else:
        catalog.functions[planned.name] = planned.statement
