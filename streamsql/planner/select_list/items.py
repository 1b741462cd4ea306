"""The items of a SELECT: stars expanded, expressions bound, every column named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql.errors import PlanError, Span, TypeMismatchError
from streamsql.nodes import Expression, Query, SelectAll, SelectExpression, SelectItem, SelectStruct
from streamsql.planner.operators import Named
from streamsql.planner.scopes.names import NameGenerator
from streamsql.planner.scopes.qualified import bare_name
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import bind
from streamsql.schema import RESERVED_COLUMNS
from streamsql.types import fields, is_null, is_struct, quote, to_sql, type_of


@dataclass(frozen=True)
class Item:
    """A column of the result: its name and the bound expression over the source's columns."""

    name: str
    expression: Expression
    span: Span | None = None


Stars = Mapping[str | None, Sequence[Named]]
"""Expansions of `*` (None) and `source.*`."""


def select_items(query: Query, scope: Scope, stars: Stars, *, persistent: bool) -> tuple[Item, ...]:
    """All items in order.

    Names: the alias, else the column's or field's name, else KSQL_COL_<n>.
    """
    stars_used = [item.source for item in query.items if isinstance(item, SelectAll)]
    used = [None if name is None else scope.alias_of(name) for name in stars_used]
    names = scope.names([c.name for source in used for c in stars.get(source, ())])
    items: list[Item] = []
    for item in query.items:
        items.extend(_expand(item, scope, stars, names, persistent))
    _check_unique(items)
    return tuple(items)


def _expand(
    item: SelectItem,
    scope: Scope,
    stars: Stars,
    names: NameGenerator,
    persistent: bool,
) -> list[Item]:
    if isinstance(item, SelectAll):
        if not stars[None]:
            raise PlanError("SELECT * needs a FROM.", span=item.span)
        source = item.source
        if source is not None:
            scope.check_source(source, item.span)
            source = scope.alias_of(source)
        return [Item(made.name, made.expression, item.span) for made in stars[source]]
    if isinstance(item, SelectStruct):
        return _struct_fields(item, scope)
    return [_expression(item, scope, names, persistent)]


def _expression(
    item: SelectExpression, scope: Scope, names: NameGenerator, persistent: bool
) -> Item:
    bound = bind(item.expression, scope, "SELECT")
    if is_null(type_of(bound)):
        raise TypeMismatchError(
            "Can't infer a type of null. Please explicitly cast it to a required type, "
            "e.g. CAST(null AS VARCHAR).",
            span=item.span,
        )
    name = item.alias or names.name_for(bound)
    _check_reserved(item, name, bound, persistent)
    return Item(name, bound, item.span)


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


def _check_reserved(item: SelectExpression, name: str, bound: Expression, persistent: bool) -> None:
    """System columns are columns of every source already, so a result must not define them."""
    if name not in RESERVED_COLUMNS:
        return
    own = isinstance(bound, exp.Column) and bare_name(bound) == name
    if own and persistent:
        raise PlanError(
            f"Reserved column name in select: {quote(name)}. Please remove or alias the column.",
            hint=f"Write {expression_text(bound)} AS another_name.",
            span=item.span,
        )
    if not own:
        raise PlanError(
            f"{quote(name)} is a reserved column name. You cannot use it as an alias for a column.",
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
    """References to columns of the scope under their own names, as `*` needs them."""
    found = (scope.schema.find(name) for name in names)
    return tuple(Named(column.name, scope.reference(column)) for column in found if column)
