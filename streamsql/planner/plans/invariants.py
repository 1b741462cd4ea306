"""What holds for every plan, checked after each rule so that the rule that broke it is named."""

from __future__ import annotations

from collections.abc import Iterator

from streamsql.errors import InternalError
from streamsql.nodes import Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.lookup_join import LookupJoin
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.values import Values
from streamsql.planner.types.binding import columns_in


def check_rewrite(rule: str, before: Operator, after: Operator) -> None:
    """InternalError where a rule changed the result's schema or left a plan that is not sound."""
    if before.schema != after.schema:
        raise InternalError(
            f"rule {rule} changed the schema from {before.schema} to {after.schema}"
        )
    for problem in problems(after):
        raise InternalError(f"rule {rule} left a broken plan: {problem}")


def problems(plan: Operator) -> Iterator[str]:
    """What is wrong with a plan, operator by operator."""
    name = type(plan).__name__
    names = plan.schema.names
    if len(set(names)) != len(names):
        yield f"{name} has two columns of one name: {', '.join(names)}"
    for expression, source in _over_inputs(plan):
        yield from (f"{name}: {text}" for text in _unsound(expression, source))
    if isinstance(plan, Join) and plan.left_on.type != plan.right_on.type:
        yield f"{name} compares {plan.left_on.type} with {plan.right_on.type}"
    for source in plan.inputs:
        yield from problems(source)


def _over_inputs(plan: Operator) -> Iterator[tuple[Expression, Operator]]:
    """Each expression with the input whose columns it reads."""
    if isinstance(plan, Join):
        yield plan.left_on, plan.left
        yield plan.right_on, plan.right
        if plan.condition is not None:
            yield plan.condition, plan
    elif isinstance(plan, LookupJoin):
        yield from ((key, plan.input) for key in plan.keys)
        if plan.condition is not None:
            yield plan.condition, plan
    elif plan.inputs:
        yield from ((expression, plan.inputs[0]) for expression in expressions_of(plan))


def expressions_of(plan: Operator) -> tuple[Expression, ...]:
    """The expressions of one operator, over the columns of its inputs."""
    match plan:
        case Join():
            besides = () if plan.condition is None else (plan.condition,)
            return plan.left_on, plan.right_on, *besides
        case LookupJoin():
            return (*plan.keys, *(() if plan.condition is None else (plan.condition,)))
        case Filter():
            return (plan.condition,)
        case Sink():
            return tuple(constraint.condition for constraint in plan.constraints)
        case Project():
            return tuple(named.expression for named in (*plan.key, *plan.value))
        case FlatMap():
            return tuple(named.expression for named in plan.functions)
        case Repartition():
            return tuple(named.expression for named in plan.keys)
        case TopN():
            groups = tuple(named.expression for named in plan.keys)
            return (*groups, *(order.expression for order in plan.order))
        case Over():
            orders = (order.expression for order in plan.order or ())
            return (*plan.keys, *(e for call in plan.calls for e in call.expressions), *orders)
        case Match():
            keys = tuple(named.expression for named in plan.keys)
            return (*keys, *(column.expression for column in plan.all_columns))
        case Aggregate():
            return tuple(named.expression for named in (*plan.keys, *plan.aggregates))
        case Values():
            return tuple(value for row in plan.rows for value in row)
    return ()


def _unsound(expression: Expression, source: Operator) -> Iterator[str]:
    for column in columns_in(expression):
        found = source.schema.find(column.name)
        if found is None:
            yield f"column {column.name} is not in its input"
        elif found.type != column.type:
            yield f"column {column.name} has type {column.type}, in its input {found.type}"
        if column.table:
            yield f"column {column.table}.{column.name} is still qualified"
    if expression.type is None:
        yield f"an expression has no type: {expression!r}"
