"""Table functions in a SELECT: where they may stand, and the FlatMap that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_changes

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.nodes import Expression
from streamsql.planner.operators import FlatMap, Named, Operator
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select_list.items import Item
from streamsql.planner.select_list.projection import Selected
from streamsql.planner.types.binding import reference, replace, table_functions_in
from streamsql.schema import Kind

_PREFIX = "KSQL_SYNTH_"


def check_table_functions(items: Sequence[Item], kind: Kind) -> None:
    """PlanError for a table function over a table, inside another one or inside CASE."""
    for item in items:
        for call in table_functions_in(item.expression):
            if kind is Kind.TABLE:
                raise PlanError(
                    "Table source is not supported with table functions",
                    hint="Use a stream over the table's topic.",
                    span=span_of(call),
                )
            for argument in call.expressions:
                for nested in table_functions_in(argument):
                    raise PlanError(
                        f"Table functions cannot be nested: {expression_text(call)}",
                        span=span_of(nested),
                    )
            if call.find_ancestor(exp.Case):
                raise PlanError(
                    f"Table functions cannot be used in CASE: {expression_text(call)}",
                    span=span_of(call),
                )


def flat_map(source: Operator, selected: Selected) -> tuple[Operator, Selected]:
    calls: list[Expression] = []
    for item in (*selected.key_items, *selected.value):
        calls.extend(call for call in table_functions_in(item.expression) if call not in calls)
    if not calls:
        return source, selected
    functions = tuple(Named(f"{_PREFIX}{i}", call) for i, call in enumerate(calls))

    def result_of(node: Expression) -> Expression | None:
        return next((reference(f.name, node) for f in functions if f.expression == node), None)

    value = tuple(
        with_changes(item, expression=replace(item.expression, result_of))
        for item in selected.value
    )
    return FlatMap(source, functions), Selected(selected.key, value)
