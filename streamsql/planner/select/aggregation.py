"""GROUP BY: grouping keys, aggregate calls, and the expressions over both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.ksqldb import says
from streamsql.nodes import Emit, Expression, Query
from streamsql.planner.operators import Aggregate, Filter, Named, Operator, Project
from streamsql.planner.scopes.names import NameGenerator
from streamsql.planner.scopes.scope import Scope, column_node
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.window_functions import BOUND
from streamsql.planner.select_list.items import Item, Stars, select_items
from streamsql.planner.select_list.projection import Keys, Selected, check_stored, divide, project
from streamsql.planner.types.binding import (
    aggregate_function,
    aggregates_in,
    bind,
    columns_in,
    is_aggregate,
    reference,
    replace,
    table_functions_in,
    typed,
)
from streamsql.planner.types.calls import COLLECTS_FOR
from streamsql.planner.types.inference import require_boolean
from streamsql.planner.types.scope import text_of
from streamsql.schema import RESERVED_COLUMNS, ROWTIME, WINDOW_BOUNDS, Kind, Schema

_BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)


@dataclass(frozen=True)
class Grouping:
    """The expressions available above an aggregation."""

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]

    def rewrite(self, expression: Expression) -> Expression:

        def result_of(node: Expression) -> Expression | None:
            for made in (*self.keys, *self.aggregates):
                if made.expression == node:
                    return reference(made.name, node)
            return None

        return replace(expression, result_of)


def build_aggregation(
    query: Query,
    scope: Scope,
    source: Operator,
    stars: Stars,
    sink: str | None,
    *,
    inner: bool = False,
    bounded: bool = False,
) -> tuple[Project, tuple[str, ...]]:
    """The plan of a query with aggregates, and its columns in the order of the SELECT."""
    _check_clauses(query)
    select_scope = _with_window_bounds(scope) if query.window else scope
    of_window = bool(query.group_by) and BOUND in query.group_by[0].meta
    groups = _group_expressions(query, select_scope if of_window else scope)
    items = _normalised(
        select_items(query, select_scope, stars, persistent=sink is not None), scope
    )
    having = _having(query, scope)
    calls = _aggregate_calls(items, having)
    _check_calls(query, calls, items)
    _check_non_aggregate(query, items, having, groups)
    _check_grouped(query, calls, sink)
    if source.kind is Kind.TABLE:
        _check_table_source(query, calls, bounded=bounded)
    keys = Keys(groups, "grouping expression", scope.alias)
    selected = divide(items, keys)
    if sink is not None:
        check_stored(selected, keys, sink, query.span, inner=inner)
    # All rows of a window are one group, whose key comes from the window.
    named = () if of_window else _named_keys(groups, selected, scope)
    grouping = Grouping(named, _named_aggregates(calls))
    emit = query.emit or Emit.CHANGES
    plan: Operator = Aggregate(source, grouping.keys, grouping.aggregates, query.window, emit)
    if having is not None:
        plan = Filter(plan, grouping.rewrite(having), "HAVING")
    result = Selected(
        tuple(_over(item, grouping) for item in selected.key),
        tuple(with_changes(i, expression=grouping.rewrite(i.expression)) for i in selected.value),
    )
    return project(plan, result), tuple(item.name for item in items)


def _over(item: Item | None, grouping: Grouping) -> Item | None:
    if item is None:
        return None
    return with_changes(item, expression=grouping.rewrite(item.expression))


def _with_window_bounds(scope: Scope) -> Scope:
    columns = (*scope.schema.columns, *(b for b in WINDOW_BOUNDS if not scope.schema.find(b.name)))
    return with_changes(scope, schema=Schema(columns))


# -- clauses -------------------------------------------------------------------------------------


def _check_clauses(query: Query) -> None:
    if query.partition_by:
        raise PlanError(
            "PARTITION BY cannot be used together with GROUP BY or aggregate functions.",
            hint="GROUP BY already makes its expressions the key of the result.",
            span=span_of(query.partition_by[0]),
        )
    if query.emit is Emit.FINAL and query.window is None:
        raise PlanError(
            "EMIT FINAL is only supported for windowed aggregations.",
            hint="Add a WINDOW clause, or use EMIT CHANGES.",
            span=query.span,
        )


def _group_expressions(query: Query, scope: Scope) -> tuple[Expression, ...]:
    bound: list[Expression] = []
    for expression in query.group_by:
        for call in aggregates_in(expression):
            raise PlanError(
                "GROUP BY does not support aggregate functions: "
                f"{call.name} is an aggregate function.",
                span=span_of(call),
            )
        for call in table_functions_in(expression):
            raise PlanError(
                f"GROUP BY does not support table functions: {call.name} is a table function.",
                span=span_of(call),
            )
        new = bind(expression, scope, "GROUP BY")
        if new in bound:
            raise PlanError(
                f"Duplicate GROUP BY expression: {expression_text(new)}",
                span=span_of(expression),
            )
        bound.append(new)
    return tuple(bound)


def _having(query: Query, scope: Scope) -> Expression | None:
    if query.having is None:
        return None
    bound = bind(query.having, scope, "HAVING")
    require_boolean(bound, "HAVING")
    return count_rows(bound, scope)


def _normalised(items: Sequence[Item], scope: Scope) -> tuple[Item, ...]:
    return tuple(with_changes(i, expression=count_rows(i.expression, scope)) for i in items)


def count_rows(expression: Expression, scope: Scope) -> Expression:
    """COUNT(*), COUNT() and similar calls read ROWTIME, which every row has."""

    def with_argument(node: Expression) -> Expression | None:
        if not is_aggregate(node):
            return None
        arguments = node.expressions
        if arguments and not isinstance(arguments[0], exp.Star):
            return None
        call = node.copy()
        call.set("expressions", [column_node(ROWTIME)])
        return typed(call, scope, "SELECT")

    return replace(expression, with_argument)


# -- aggregate calls -----------------------------------------------------------------------------


def _aggregate_calls(items: Sequence[Item], having: Expression | None) -> list[Expression]:
    calls: list[Expression] = []
    for expression in [*(i.expression for i in items), *([having] if having is not None else [])]:
        calls.extend(call for call in aggregates_in(expression) if call not in calls)
    return calls


def _check_calls(query: Query, calls: Sequence[Expression], items: Sequence[Item]) -> None:
    if not calls:
        raise PlanError(
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.",
            hint="Add an aggregate such as COUNT(*) to the SELECT.",
            span=span_of(query.group_by[0]),
        )
    for call in calls:
        _check_arguments(call)
    for item in items:
        for call in table_functions_in(item.expression):
            raise PlanError(
                "Table functions cannot be used with aggregations.",
                hint=f"Make a stream of {call.name} first, and aggregate that.",
                span=span_of(call),
            )


def _check_grouped(query: Query, calls: Sequence[Expression], sink: str | None) -> None:
    """Rejects windows and persistent results without GROUP BY."""
    if query.group_by:
        return
    if query.window is not None:
        raise PlanError(
            "WINDOW clause requires a GROUP BY clause.",
            hint="Add GROUP BY with the expressions that identify a group.",
            span=query.window.span,
        )
    if sink is not None:
        shown = ", ".join(expression_text(call) for call in calls)
        raise PlanError(
            f"CREATE TABLE AS SELECT statement does not support aggregate function [{shown}] "
            "without a GROUP BY clause.",
            hint="Add a GROUP BY clause: it gives the table its key.",
            span=span_of(calls[0]),
        )


def _check_arguments(call: Expression) -> None:
    outer = call.meta.get(COLLECTS_FOR, call.name)
    for argument in call.expressions:
        for nested in aggregates_in(argument):
            raise PlanError(
                f"Aggregate functions can not be nested: {outer}({nested.name}())",
                span=span_of(nested),
            )
        for column in columns_in(argument):
            if column.name in _BOUNDS:
                raise PlanError(
                    f"Window bounds column {column.name} can only be used in the SELECT clause of "
                    "windowed aggregations and can not be passed to aggregate functions.",
                    span=span_of(column),
                    ksqldb=says("window-bounds", bound=column.name),
                )


def _check_table_source(query: Query, calls: Sequence[Expression], *, bounded: bool) -> None:
    refused = [c.name for c in calls if not (bounded or aggregate_function(c).undo)]
    if refused:
        raise PlanError(
            f"The aggregation function(s) ({', '.join(refused)}) cannot be applied to a table "
            "source, only to a stream source.",
            hint="A table's rows change: only functions that support the removal of a value work.",
            span=span_of(calls[0]),
        )
    if query.window is not None:
        raise PlanError(
            "WINDOW clause is only supported on streams, and the source is a table.",
            span=query.window.span,
        )


def _named_aggregates(calls: Sequence[Expression]) -> tuple[Named, ...]:
    names = NameGenerator()
    return tuple(Named(names.aggregate(), call) for call in calls)


# -- grouping keys -------------------------------------------------------------------------------


def _check_non_aggregate(
    query: Query, items: Sequence[Item], having: Expression | None, groups: Sequence[Expression]
) -> None:
    wrong = [i.expression for i in items if _loose_columns(i.expression, groups, query)]
    if wrong:
        shown = ", ".join(text_of(e) for e in wrong)
        raise PlanError(
            f"Non-aggregate SELECT expression(s) not part of GROUP BY: {shown}",
            hint="Either add the column(s) to the GROUP BY or remove them from the SELECT.",
            span=span_of(wrong[0]),
            ksqldb=says("select-not-grouped", expressions=shown),
        )
    if having is not None and _loose_columns(having, groups, query):
        raise PlanError(
            "Non-aggregate HAVING expression not part of GROUP BY: " + text_of(having),
            hint="Use WHERE for conditions on single rows.",
            span=span_of(having),
            ksqldb=says("having-not-grouped", expression=text_of(having)),
        )


def _loose_columns(
    expression: Expression, groups: Sequence[Expression], query: Query
) -> list[Expression]:
    def is_whole(node: Expression) -> bool:
        return is_aggregate(node) or node in groups

    allowed = _BOUNDS if query.window else frozenset()
    parameters = set(columns_in(expression))
    return [
        node
        for node in expression.dfs(prune=is_whole)
        if isinstance(node, exp.Column)
        and not is_whole(node)
        and node.name not in allowed
        and node in parameters
    ]


def _named_keys(
    groups: Sequence[Expression], selected: Selected, scope: Scope
) -> tuple[Named, ...]:
    """The keys under their names in the result; a key that is not selected, or has the name of a
    system column, gets a generated name."""
    chosen = [item.name for item in selected.key if item is not None]
    names = scope.names(chosen)
    made: list[Named] = []
    for expression, item in zip(groups, selected.key, strict=True):
        name = item.name if item is not None else names.name_for(expression)
        taken = [named.name for named in made]
        if name in RESERVED_COLUMNS or name in taken or (item is None and name in chosen):
            name = names.generated()
        made.append(Named(name, expression))
    return tuple(made)
