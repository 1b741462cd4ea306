"""Restrictions of streaming that a plan must keep: CHECKS, one function each."""

from __future__ import annotations

from collections.abc import Callable

from streamsql.errors import PlanError, UnsupportedError
from streamsql.formats.base import maps_have_text_keys
from streamsql.ksqldb import says
from streamsql.planner.operators import Aggregate, Distinct, Export, Operator, Sink, operators
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.types import (
    MAX_PRECISION,
    SQLType,
    contains_map,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    precision_scale,
    quote,
    to_sql,
    type_of,
)

Check = Callable[[Operator], None]


def groups_are_comparable(root: Operator) -> None:
    """A MAP has no order of its entries, so that equal maps could be different groups."""
    for operator in operators(root):
        if isinstance(operator, Aggregate):
            for key in operator.keys:
                if contains_map(type_of(key.expression)):
                    raise PlanError(
                        "Map keys, including types that contain maps, are not supported as they "
                        "may lead to unexpected behavior due to inconsistent serialization. "
                        f"Key column name: {quote(key.name)}. "
                        f"Column type: {to_sql(type_of(key.expression))}.",
                        span=span_of(key.expression),
                        ksqldb=says(
                            "map-key",
                            key=quote(key.name),
                            type=to_sql(type_of(key.expression)),
                        ),
                    )


def distinct_rows_are_comparable(root: Operator) -> None:
    for operator in operators(root):
        if isinstance(operator, Distinct):
            for column in operator.schema:
                if contains_map(column.type):
                    raise PlanError(
                        f"SELECT DISTINCT cannot compare column {quote(column.name)} of type "
                        f"{to_sql(column.type)}.",
                        hint="Leave it out, or select a text form of the map.",
                    )


def decimals_are_not_too_wide(root: Operator) -> None:
    """Spark's DECIMAL has 38 digits."""
    for operator in operators(root):
        for expression in operator.expressions:
            if _too_wide(type_of(expression)):
                raise UnsupportedError(
                    f"{expression_text(expression)} is of type {to_sql(type_of(expression))}: "
                    f"more than {MAX_PRECISION} digits are not supported",
                    hint=f"CAST it to DECIMAL({MAX_PRECISION}, s) or to DOUBLE.",
                    span=span_of(expression),
                )


def shown_maps_have_text_keys(root: Operator) -> None:
    """Rows of a push query are written as JSON, whose objects have text keys."""
    if isinstance(root, Sink | Export):
        return
    for column in root.schema:
        if not maps_have_text_keys(column.type):
            raise UnsupportedError(
                f"column {quote(column.name)} of type {to_sql(column.type)} cannot be shown",
                hint="Use STRING keys in the map, or MAP_KEYS and MAP_VALUES.",
            )


CHECKS: tuple[Check, ...] = (
    groups_are_comparable,
    distinct_rows_are_comparable,
    decimals_are_not_too_wide,
    shown_maps_have_text_keys,
)


def _too_wide(t: SQLType) -> bool:
    if is_decimal(t):
        return precision_scale(t)[0] > MAX_PRECISION
    if is_array(t) or is_map(t):
        return _too_wide(element_type(t))
    return is_struct(t) and any(_too_wide(kind) for _, kind in fields(t))
