"""The items of a SELECT: stars expanded, expressions bound, every column named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql.errors import BindError, PlanError, Span, TypeMismatchError
from streamsql.nodes import (
    Expression,
    Query,
    SelectAll,
    SelectExpression,
    SelectItem,
    SelectStruct,
)
from streamsql.planner.bind import bind, column_node
from streamsql.planner.logical import Named
from streamsql.planner.names import NameGenerator
from streamsql.planner.scope import Scope
from streamsql.schema import RESERVED_COLUMNS
from streamsql.types import fields, is_null, is_struct, quote, to_sql, type_of


@dataclass(frozen=True)
class Item:
    """A column of the result: its name and the bound expression over the source's columns."""

    name: str
    expression: Expression
    span: Span | None = None


def select_items(
    query: Query, scope: Scope, star: Sequence[Named], *, persistent: bool
) -> tuple[Item, ...]:
    """All items in order; `star` is what `*` stands for.

    Names: the alias, else the column's or field's name, else KSQL_COL_<n>.
    """
    has_star = any(isinstance(item, SelectAll) for item in query.items)
    taken = [column.name for column in scope.schema]
    names = NameGenerator([*taken, *(c.name for c in star)] if has_star else taken)
    items: list[Item] = []
    for item in query.items:
        items.extend(_expand(item, scope, star, names, persistent))
    _check_unique(items)
    return tuple(items)


def _expand(
    item: SelectItem,
    scope: Scope,
    star: Sequence[Named],
    names: NameGenerator,
    persistent: bool,
) -> list[Item]:
    if isinstance(item, SelectAll):
        if item.source is not None and item.source != scope.alias:
            raise BindError(
                f"'{item.source}' is not a valid stream/table name or alias.",
                hint=f"The source of this query is called {scope.alias}.",
                span=item.span,
            )
        return [Item(column.name, column.expression, item.span) for column in star]
    if isinstance(item, SelectStruct):
        return _struct_fields(item, scope)
    return [_expression(item, scope, names, persistent)]


def _expression(
    item: SelectExpression, scope: Scope, names: NameGenerator, persistent: bool
) -> Item:
    _check_reserved(item, persistent)
    bound = bind(item.expression, scope, "SELECT")
    if is_null(type_of(bound)):
        raise TypeMismatchError(
            "Can't infer a type of null. Please explicitly cast it to a required type, "
            "e.g. CAST(null AS VARCHAR).",
            span=item.span,
        )
    return Item(item.alias or names.name_for(bound), bound, item.span)


def _struct_fields(item: SelectStruct, scope: Scope) -> list[Item]:
    """`s->*`: one item a field."""
    bound = bind(item.expression, scope, "SELECT")
    bound_type = type_of(bound)
    if not is_struct(bound_type):
        raise TypeMismatchError(
            f"->* needs a STRUCT, but this is of type {to_sql(bound_type)}", span=item.span
        )
    items = []
    for name, kind in fields(bound_type):
        field = exp.Dot(this=bound.copy(), expression=exp.to_identifier(name, quoted=True))
        field.type = kind
        field.meta.update(bound.meta)
        items.append(Item(name, field, item.span))
    return items


def _check_reserved(item: SelectExpression, persistent: bool) -> None:
    """System columns are columns of every source already, so a result must not define them."""
    expression = item.expression
    own = expression.name if isinstance(expression, exp.Column) else None
    if persistent and item.alias is None and own in RESERVED_COLUMNS:
        raise PlanError(
            f"Reserved column name in select: {quote(own)}. Please remove or alias the column.",
            hint=f"Write {own} AS another_name.",
            span=item.span,
        )
    if item.alias in RESERVED_COLUMNS and (persistent or item.alias != own):
        raise PlanError(
            f"{quote(item.alias)} is a reserved column name. "
            "You cannot use it as an alias for a column.",
            span=item.span,
        )


def _check_unique(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            column = f"{quote(item.name)} {to_sql(type_of(item.expression))}"
            raise PlanError(
                f"Duplicate value columns found in schema: {column}",
                hint="Give one of the columns an alias: expression AS name.",
                span=item.span,
            )
        seen.add(item.name)


def column_items(scope: Scope, names: Sequence[str]) -> tuple[Named, ...]:
    """References to columns of the scope, as `*` needs them."""
    found = (scope.schema.find(name) for name in names)
    return tuple(Named(column.name, column_node(column)) for column in found if column)
