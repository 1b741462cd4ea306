"""A query plan as text: the same for the same statement, without ids of objects or addresses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from streamsql.errors import InternalError
from streamsql.nodes import Emit
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.file_sink import FileSink
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join, join_text
from streamsql.planner.operators.limit import Limit
from streamsql.planner.operators.lookup_join import LookupJoin, lookup_line
from streamsql.planner.operators.match import Match, keys_text, match_text
from streamsql.planner.operators.operator import Named, Operator, Ordering
from streamsql.planner.operators.over import Over, over_text
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.scan import Scan, start_text
from streamsql.planner.operators.set_operation import SetOperation
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.topics import expected_text, topic_text
from streamsql.planner.operators.union import Union
from streamsql.planner.operators.values import Values
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.modes import lookups
from streamsql.planner.plans.query_plan import ModeDecision, QueryPlan
from streamsql.planner.plans.state_stores import state_stores
from streamsql.planner.rules import optimize
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.windows import duration, window_text
from streamsql.planner.windows import words as duration_text
from streamsql.status import QueryInfo
from streamsql.types import quote


def explain(plan: QueryPlan, *, verbose: bool = False, running: QueryInfo | None = None) -> str:
    """Mode, state and operators; verbose: the operators after each rule that changed them.
    `running`: the query of this plan, whose mode now may differ from the planned one."""
    name = f"Query {plan.query_id}" if plan.query_id else "Push query"
    lines = [
        f"{name}: {plan.root.kind.value}, EMIT {plan.emit.value}",
        *_mode_lines(plan.mode, running),
        *_delivery_lines(plan),
        *_state_lines(plan.root),
        *_lookup_lines(plan.root),
        "",
    ]
    return "\n".join([*lines, *(verbose_lines(plan) if verbose else tree_lines(plan.root))])


def _mode_lines(planned: ModeDecision, running: QueryInfo | None) -> list[str]:
    line = f"{planned.mode.value}, because {planned.reason}"
    if running is None or running.mode == planned.mode.value:
        return [f"Mode: {line}"]
    return [f"Mode: {running.mode}, because {running.reason}", f"Planned mode: {line}"]


def verbose_lines(plan: QueryPlan) -> list[str]:
    """The operators before the rules, and after each one that changed them."""
    start = plan.unoptimized or plan.root
    lines = ["Before the rules:", *_indented(tree_lines(start))]
    for step in optimize(start).steps:
        lines += [f"After {step.rule}:", *_indented(tree_lines(step.plan))]
    if start == plan.root:
        lines.append("No rule changed it.")
    return lines


def _delivery_lines(plan: QueryPlan) -> list[str]:
    """How often its rows are delivered, said of what is not the default."""
    if isinstance(plan.root, FileSink):
        return ["Delivery: exactly once, for whoever reads the files"]
    if plan.guarantee is Guarantee.AT_LEAST_ONCE or not isinstance(plan.root, Sink):
        return []
    return [f"Delivery: exactly once; {_TOLD_APART[replay_of(plan.root)]}"]


_TOLD_APART = {
    Replay.SOURCE: "after a failure, rows are told apart by the record that caused them",
    Replay.CAUSE: "after a failure, rows are told apart by the stream's record that caused them",
    Replay.KEY: "after a failure, the newest row of each key is written once more",
    Replay.TASK: "each task of a batch is committed as a whole",
}


def _state_lines(root: Operator) -> list[str]:
    """What the query keeps between records, a line a store."""
    stores = state_stores(root)
    if not stores:
        return ["State: none"]
    return ["State:", *_indented([store.text for store in stores])]


def _lookup_lines(root: Operator) -> list[str]:
    """What a row finds depends on when it is processed."""
    names = ", ".join(dict.fromkeys(quote(join.lookup.name) for join in lookups(root)))
    then = "as it is when a row is processed; one that is processed again may find something else"
    return [f"Looked up: {names}, {then}"] if names else []


def tree_lines(plan: Operator) -> list[str]:
    """An operator a line, its inputs indented below; schemas under those that make columns."""
    lines = [operator_line(plan)]
    if isinstance(plan, (Project, Scan)):
        lines.append(f"  columns: {plan.source.schema if isinstance(plan, Scan) else plan.schema}")
    for source in plan.inputs:
        lines.extend(_indented(tree_lines(source)))
    return lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


# -- operators -----------------------------------------------------------------------------------


@singledispatch
def operator_line(plan: Operator) -> str:
    """What one operator does."""
    raise InternalError(f"no text for {type(plan).__name__}")


@operator_line.register
def _scan(plan: Scan) -> str:
    alias = f" AS {quote(plan.alias)}" if plan.alias != plan.source.name else ""
    start = f", from {start_text(plan.start)}" if plan.start else ""
    source = f"{quote(plan.source.name)}{alias}: {topic_text(plan.source)}"
    expected = expected_text(plan.source.expected_of_reads)
    return f"Scan {plan.kind.value} {source}{start}{expected}"


@operator_line.register
def _derived(plan: Derived) -> str:
    clock = ", at the time of the clock" if plan.by_clock else ""
    return f"Derived {plan.kind.value} {quote(plan.alias)}{clock}"


@operator_line.register
def _union(plan: Union) -> str:
    return "Union of all rows"


@operator_line.register
def _values(plan: Values) -> str:
    count = f"{len(plan.rows)} row{'' if len(plan.rows) == 1 else 's'}"
    return f"Values: {count}" if plan.schema.columns else "One row"


@operator_line.register
def _set_operation(plan: SetOperation) -> str:
    return f"{plan.operator.value.capitalize()} of rows"


@operator_line.register
def _distinct(plan: Distinct) -> str:
    return "Distinct" + (f" in each {window_text(plan.window)}" if plan.window else "")


@operator_line.register
def _filter(plan: Filter) -> str:
    return f"Filter {plan.clause} {expression_text(plan.condition)}"


@operator_line.register
def _project(plan: Project) -> str:
    return f"Project key: {_named_list(plan.key)}; value: {_named_list(plan.value)}"


@operator_line.register
def _flat_map(plan: FlatMap) -> str:
    return f"FlatMap {_named_list(plan.functions)}"


@operator_line.register
def _qualify(plan: Qualify) -> str:
    return f"Qualify {quote(plan.alias)}"


@operator_line.register
def _join(plan: Join) -> str:
    key = f"key {quote(plan.key)}" if plan.key else "key of the left side"
    return f"Join {join_text(plan)}: {key}"


@operator_line.register
def _lookup(plan: LookupJoin) -> str:
    return f"Look-up join {lookup_line(plan)}"


@operator_line.register
def _repartition(plan: Repartition) -> str:
    return f"Repartition by {_named_list(plan.keys)}"


@operator_line.register
def _aggregate(plan: Aggregate) -> str:
    window = f" {window_text(plan.window)}" if plan.window else ""
    keys = _named_list(plan.keys) if plan.keys else "all rows"
    final = ", final results only" if plan.emit is Emit.FINAL else ""
    return f"Aggregate{window} by {keys}: {_named_list(plan.aggregates)}{final}"


@operator_line.register
def _top(plan: TopN) -> str:
    order = _orders(plan.order)
    keys = f" of each {_named_list(plan.keys)}" if plan.keys else ""
    if plan.rank:
        counted = f"{plan.ranks.value} {quote(plan.rank)}, number {quote(plan.number)}"
    else:
        counted = f"rank {quote(plan.number)}"
    return f"TopN {plan.count}{keys} by {order}: {counted}"


def _orders(orders: Sequence[Ordering]) -> str:
    return ", ".join(
        expression_text(o.expression) + (" DESC" if o.descending else "") for o in orders
    )


@operator_line.register
def _over(plan: Over) -> str:
    keys = ", ".join(map(expression_text, plan.keys))
    of = f" of each {keys}" if keys else ""
    if plan.order:
        of += f" by {_orders(plan.order)}"
    grace = "" if plan.grace_ms is None else f" GRACE {duration_text(duration(plan.grace_ms))}"
    rows = "all rows" if plan.order == () else "the rows before"
    return f"Over {rows}{of}{grace}: {', '.join(map(over_text, plan.calls))}"


@operator_line.register
def _match(plan: Match) -> str:
    keys = keys_text(plan)
    of = f" of each {keys}" if keys else ""
    grace = "" if plan.grace_ms is None else f" GRACE {duration_text(duration(plan.grace_ms))}"
    return f"Match{of}{grace}: {match_text(plan)}"


@operator_line.register
def _limit(plan: Limit) -> str:
    return f"Limit {plan.count}"


@operator_line.register
def _sink(plan: Sink) -> str:
    target = f"{quote(plan.target.name)}: {topic_text(plan.target)}"
    return f"Sink {plan.target.kind.value} {target}{expected_text(plan.target.expected_of_writes)}"


@operator_line.register
def _file_sink(plan: FileSink) -> str:
    target = plan.target
    by = f", partitioned by {', '.join(map(quote, plan.partition_by))}" if plan.partition_by else ""
    interval = duration_text(duration(plan.interval_ms))
    return (
        f"Sink {quote(target.name)}: {target.format} files in '{target.path}'{by}, every {interval}"
    )


def _named_list(items: Sequence[Named]) -> str:
    return ", ".join(_named(item) for item in items) or "none"


def _named(item: Named) -> str:
    text = expression_text(item.expression)
    name = quote(item.name)
    return text if text in (name, item.name) else f"{text} AS {name}"


# -- topics and windows --------------------------------------------------------------------------
