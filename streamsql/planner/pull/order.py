"""ORDER BY of a pull query: by columns of the result, or by additional ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.errors import PlanError, StreamSQLError
from streamsql.nodes import Expression, Query, SelectExpression
from streamsql.planner.plans.statements import ResultOrder
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.build import Built
from streamsql.types import is_array, is_map, is_struct, to_sql

_PREFIX = "$ORDER"


@dataclass(frozen=True)
class Sorting:
    """A sort expression: a name or position of a result column, or one of `added`."""

    by: tuple[str | int, ...] = ()
    orders: tuple[Expression, ...] = ()
    added: int = 0
    """The number of columns after those of the SELECT."""


def with_order_columns(query: Query) -> tuple[Query, Sorting]:
    if not query.order_by:
        return query, Sorting()
    aliases = {
        item.alias: item.expression
        for item in query.items
        if isinstance(item, SelectExpression) and item.alias is not None
    }
    by: list[str | int] = []
    added: list[SelectExpression] = []
    for order in query.order_by:
        found = _shown(order.this, query, aliases)
        if found is None:
            found = f"{_PREFIX}{len(added)}"
            added.append(SelectExpression(_over_source(order.this, aliases), found, span_of(order)))
        by.append(found)
    selected = replace(query, order_by=(), items=(*query.items, *added))
    return selected, Sorting(tuple(by), query.order_by, len(added))


@contextmanager
def naming_order_by(query: Query) -> Iterator[None]:
    """Names ORDER BY in errors about its expressions, which the planner handles as those of a
    SELECT."""
    try:
        yield
    except StreamSQLError as error:
        places = [span_of(order) for order in query.order_by]
        if error.span is not None and any(
            place and place.start <= error.span.start < place.end for place in places
        ):
            error.message = error.message.replace("SELECT column", "ORDER BY column", 1)
        raise


def _selected(value: Expression, query: Query) -> int | None:
    """Position, from 1, of the SELECT column with that expression."""
    for place, item in enumerate(query.items, 1):
        if not isinstance(item, SelectExpression):
            return None  # A star expands to any number of columns.
        if item.expression == value:
            return place
    return None


def _shown(value: Expression, query: Query, aliases: dict[str, Expression]) -> str | int | None:
    """The result column that the expression names, or None."""
    only_shown = bool(query.union) or query.distinct
    if only_shown and not query.union and (place := _selected(value, query)) is not None:
        return place
    if isinstance(value, exp.Literal) and not value.is_string:
        return int(value.name) if value.name.isdecimal() else 0
    if isinstance(value, exp.Column) and not value.table and (value.name in aliases or only_shown):
        return value.name
    if only_shown:
        raise PlanError(
            f"ORDER BY cannot use {expression_text(value)} here.",
            hint="With UNION ALL and DISTINCT, order by columns of the SELECT.",
            span=span_of(value),
        )
    return None


def _over_source(value: Expression, aliases: dict[str, Expression]) -> Expression:

    def original(node: Expression) -> Expression:
        if isinstance(node, exp.Column) and not node.table and node.name in aliases:
            return aliases[node.name].copy()
        return node

    return value.transform(original)


def ordered(sorting: Sorting, built: Built) -> tuple[ResultOrder, ...]:
    shown = built.columns[: len(built.columns) - sorting.added]
    return tuple(
        ResultOrder(_column(by, order, built, shown), bool(order.args["desc"]), _nulls_first(order))
        for by, order in zip(sorting.by, sorting.orders, strict=True)
    )


def _nulls_first(order: Expression) -> bool:
    """By default, nulls sort last in both directions."""
    return bool(order.args.get("nulls_first"))


def _column(by: str | int, order: Expression, built: Built, shown: tuple[str, ...]) -> str:
    if isinstance(by, int):
        if not 1 <= by <= len(shown):
            raise PlanError(
                f"ORDER BY position {order.this.name} is not in the SELECT.",
                hint=f"Its columns have the numbers 1 to {len(shown)}.",
                span=span_of(order),
            )
        by = shown[by - 1]
    column = built.root.schema.find(by)
    if column is None or (by not in shown and not by.startswith(_PREFIX)):
        raise PlanError(
            f"ORDER BY column '{by}' cannot be resolved.",
            hint=f"The SELECT has the columns {', '.join(shown)}.",
            span=span_of(order),
        )
    if is_array(column.type) or is_map(column.type) or is_struct(column.type):
        raise PlanError(
            f"ORDER BY cannot sort by {expression_text(order.this)} of type {to_sql(column.type)}.",
            hint="Sort by an element or a field of it.",
            span=span_of(order),
        )
    return by
