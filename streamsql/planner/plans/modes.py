"""Real time or micro-batch: how a query runs once it has caught up, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from streamsql.errors import ConfigError
from streamsql.nodes import Emit, Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.join import Join, JoinKind
from streamsql.planner.operators.lookup_join import LookupJoin
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Operator, operators
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.sink import Sink
from streamsql.planner.plans.delivery import replay_of
from streamsql.planner.plans.guarantee import Guarantee, guarantee
from streamsql.planner.plans.query_plan import Mode, ModeDecision
from streamsql.planner.plans.state_stores import state_stores
from streamsql.planner.types.binding import aggregate_function
from streamsql.properties import PROCESSING_MODE, get_text

_NOT_IN_PARTS = (
    "exactly-once delivery of its rows needs batches that are committed as a whole: behind this "
    "state, what a failure interrupts does not come in the same order again"
)


def decide_mode(root: Operator, emit: Emit, properties: Mapping[str, str]) -> ModeDecision:
    """The mode; ConfigError where the session asks for real time and the query cannot have it."""
    wanted = get_text(properties, PROCESSING_MODE)
    exactly_once = guarantee(properties) is Guarantee.EXACTLY_ONCE
    obstacle = next(_obstacles(root, emit), None)
    if obstacle is None and exactly_once and isinstance(root, Sink):
        obstacle = None if replay_of(root).real_time else _NOT_IN_PARTS
    if obstacle is not None and wanted == "realtime":
        raise ConfigError(
            f"The query cannot run in real time: {obstacle}",
            hint=f"SET '{PROCESSING_MODE}'='auto' lets it run in micro-batches.",
        )
    if obstacle is not None:
        return ModeDecision(Mode.MICRO_BATCH, obstacle)
    if wanted == "microbatch":
        return ModeDecision(Mode.MICRO_BATCH, f"'{PROCESSING_MODE}' is set to microbatch")
    return ModeDecision(Mode.REAL_TIME, "all its operators run in Real-Time Mode")


def _obstacles(root: Operator, emit: Emit) -> Iterator[str]:
    """Why Spark's Real-Time Mode does not run the plan."""
    if emit is Emit.FINAL:
        yield "EMIT FINAL waits for the end of a batch, which lasts a minute in Real-Time Mode"
    for operator in operators(root):
        if isinstance(operator, Derived) and operator.by_clock:
            yield (
                "rows that are processed again are in other windows of the clock, and a batch of "
                "them lasts a minute in Real-Time Mode"
            )
        if _merges_shuffled(operator, root):
            yield "Spark's Real-Time Mode does not merge the rows of two stateful operators"
        for name in python_functions(operator):
            yield f"Spark does not run Python functions such as {name} in Real-Time Mode"
        if isinstance(operator, Over) and operator.grace_ms is not None:
            yield (
                "GRACE PERIOD in OVER waits for times that other rows bring, which are known at "
                "the end of a batch: it lasts a minute in Real-Time Mode"
            )
        if isinstance(operator, Match) and operator.grace_ms is not None:
            yield (
                "GRACE PERIOD in MATCH_RECOGNIZE waits for times that other rows bring, which are "
                "known at the end of a batch: it lasts a minute in Real-Time Mode"
            )
        for call in _aggregate_calls(operator):
            function = aggregate_function(call)
            if not function.real_time:
                yield f"the aggregate function {function.name} needs micro-batches"


def _aggregate_calls(operator: Operator) -> list[Expression]:
    if isinstance(operator, Aggregate):
        return [named.expression for named in operator.aggregates]
    if isinstance(operator, Over):
        return [call.expression for call in operator.calls if not call.lag]
    if isinstance(operator, Match):
        return [column.expression for column in operator.all_columns if column.place is None]
    return []


def _merges_shuffled(operator: Operator, root: Operator) -> bool:
    """Whether more than one of the inputs comes out of a shuffle."""
    # All that has state is shuffled to it by key.
    shuffled = [bool(state_stores(source, root)) for source in operator.inputs]
    if isinstance(operator, Join) and operator.join_kind is JoinKind.FOREIGN_KEY:
        shuffled[0] = True  # to the rows that are referred to
    return sum(shuffled) > 1


def python_functions(operator: Operator) -> Iterator[str]:
    """The names of the users' functions that the operator calls."""
    for expression in operator.expressions:
        for call in expression.find_all(exp.Anonymous):
            if "user_function" in call.meta:
                yield call.name


def sources_read(root: Operator) -> tuple[str, ...]:
    """The names of the sources, each once, from left to right, and then of what is looked up."""
    scans = (operator for operator in operators(root) if isinstance(operator, Scan))
    found = [scan.source.name for scan in scans]
    return tuple(dict.fromkeys((*found, *(join.lookup.name for join in lookups(root)))))


def topics_read(root: Operator) -> frozenset[str]:
    """The topics of the sources that the plan reads."""
    return frozenset(o.source.topic.name for o in operators(root) if isinstance(o, Scan))


def lookups(root: Operator) -> list[LookupJoin]:
    """What is looked up outside of Kafka, in the order of FROM."""
    found = [operator for operator in operators(root) if isinstance(operator, LookupJoin)]
    return found[::-1]
