"""Chooses real-time mode or micro-batches for a caught-up query, and explains why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from streamsql.errors import ConfigError
from streamsql.nodes import Emit
from streamsql.planner.operators import LookupJoin, Operator, Scan, Sink, operators
from streamsql.planner.plans.delivery import replay_of
from streamsql.planner.plans.guarantee import Guarantee, guarantee
from streamsql.planner.plans.query_plan import Mode, ModeDecision
from streamsql.properties import PROCESSING_MODE, get_text

_NOT_IN_PARTS = (
    "exactly-once delivery of its rows needs batches that are committed as a whole: after this "
    "state, a repeated batch does not have its rows in the same order"
)


def decide_mode(root: Operator, emit: Emit, properties: Mapping[str, str]) -> ModeDecision:
    """The mode; ConfigError if the session requests real time and the query does not support it."""
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
    return ModeDecision(Mode.REAL_TIME, "all its operators run in real-time mode")


def _obstacles(root: Operator, emit: Emit) -> Iterator[str]:
    if emit is Emit.FINAL:
        yield "EMIT FINAL waits for the end of a batch, which lasts a minute in real-time mode"
    for operator in operators(root):
        if sum(operator.shuffled_inputs(root)) > 1:
            yield "Spark's real-time mode does not merge the rows of two stateful operators"
        for name in python_functions(operator):
            yield f"Spark does not run Python functions such as {name} in real-time mode"
        yield from operator.obstacles


def python_functions(operator: Operator) -> Iterator[str]:
    for expression in operator.expressions:
        for call in expression.find_all(exp.Anonymous):
            if "user_function" in call.meta:
                yield call.name


def sources_read(root: Operator) -> tuple[str, ...]:
    """The names of the sources, each once, from left to right, followed by lookup tables."""
    scans = (operator for operator in operators(root) if isinstance(operator, Scan))
    found = [scan.source.name for scan in scans]
    return tuple(dict.fromkeys((*found, *(join.lookup.name for join in lookups(root)))))


def topics_read(root: Operator) -> frozenset[str]:
    return frozenset(o.source.topic.name for o in operators(root) if isinstance(o, Scan))


def follows_epochs(root: Operator) -> bool:
    """Whether all that it reads are views, whose rows come by epochs."""
    scans = [operator.source for operator in operators(root) if isinstance(operator, Scan)]
    return bool(scans) and all(source.is_view for source in scans) and not lookups(root)


def lookups(root: Operator) -> list[LookupJoin]:
    """The lookup joins in the order of FROM."""
    found = [operator for operator in operators(root) if isinstance(operator, LookupJoin)]
    return found[::-1]


def time_decides(root: Operator) -> bool:
    """Whether time alone may cause results in real time, without a record of their key."""
    return any(operator.time_decides for operator in operators(root))
