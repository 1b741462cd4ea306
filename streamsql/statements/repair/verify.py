"""VERIFY QUERY: compares a query's output with a batch run over the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from streamsql.catalog import Catalog
from streamsql.errors import PlanError, Span, UnsupportedError
from streamsql.executor.queries.checkpoint import committed, takeovers
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.offset_ranges import OffsetRanges, offset_ranges
from streamsql.kafka.positions import Positions
from streamsql.nodes import Emit, VerifyQuery
from streamsql.planner.operators import Export, operators
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode, QueryPlan
from streamsql.results import Field, Result, Rows, Text, Value, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle

if TYPE_CHECKING:
    from streamsql.executor.reruns.verifying import Example, Found

FIELDS = ("Result", "Rows", "Example")
_WRONG = frozenset({"MISSING", "EXTRA", "DIFFERENT"})
_WRONG_ONCE = _WRONG | {"REPEATED"}
"""With exactly-once delivery."""
_LONGEST = 200


@handle.register
def verify_query(statement: VerifyQuery, context: Context) -> Iterable[Result]:
    """VERIFY QUERY id; a warning reports differences."""
    state = context.state
    definition = state.queries.definition(statement.query_id)
    check_verifiable(definition, state.catalog, statement.span)
    folder = state.data.checkpoints / definition.id
    # In this order: the sink then only has results of records before the ends.
    reached = committed(folder)
    if reached is None:
        raise PlanError(
            f"{definition.id} has not committed any records to verify",
            hint="A real-time query commits every processing.commit.interval.ms, and on PAUSE.",
            span=statement.span,
        )
    client = state.services.kafka.get()
    sink = definition.writes or ""
    written = offset_ranges([sink], {}, client)
    inputs = _begun(offset_ranges(definition.topics, {}, client), definition)
    found = _results(definition, context, reached, inputs, written)
    remarks = _remarks(definition, inputs, written, changed=len(takeovers(folder)) > 1)
    places = (
        f"{t} {p}:{end}" for t, ps in sorted(reached.items()) for p, end in sorted(ps.items())
    )
    title = f"{definition.id}, committed up to {', '.join(places)}"
    results: list[Result] = [_rows(found, sink, title)]
    results += [Text("\n".join(remarks))] if remarks else []
    wrong = _WRONG_ONCE if definition.plan.guarantee is Guarantee.EXACTLY_ONCE else _WRONG
    count = sum(each.count for each in found if each.finding.name in wrong)
    if count:
        rows = "1 row" if count == 1 else f"{count} rows"
        differ = "differs" if count == 1 else "differ"
        results.append(Warning(f"{rows} of {sink} {differ} from the result of the log."))
    return results


def check_verifiable(definition: Definition, catalog: Catalog, span: Span | None) -> None:
    """Raises UnsupportedError for queries without an equivalent batch."""
    obstacle = obstacle_to_verifying(definition.plan, definition.sink, catalog)
    if obstacle is not None:
        raise UnsupportedError(f"{definition.id} cannot be verified: {obstacle}", span=span)


def obstacle_to_verifying(plan: QueryPlan, sink: str, catalog: Catalog) -> str | None:
    """Why a batch cannot reproduce the query's output to that stream or table; None if it can."""
    obstacle = _obstacle(plan)
    writers = catalog.writers(sink) if sink in catalog.sources else ()
    if obstacle is None and len(writers) > 1:
        return f"{', '.join(writers)} all write to {sink}"
    return obstacle


def _obstacle(plan: QueryPlan) -> str | None:
    if isinstance(plan.root, Export):
        return "it writes outside Kafka, and only topics can be compared"
    if plan.emit is Emit.FINAL:
        return "EMIT FINAL writes when time has passed, which a batch does not know"
    reasons = (operator.differs_in_batch for operator in operators(plan.root))
    return next(filter(None, reasons), None)


def _begun(ranges: OffsetRanges, definition: Definition) -> OffsetRanges:
    chosen = definition.starting_offsets or {}
    return {
        topic: {
            p: (min(max(first, chosen.get(topic, {}).get(str(p), first)), end), end)
            for p, (first, end) in partitions.items()
        }
        for topic, partitions in ranges.items()
    }


def _results(
    definition: Definition,
    context: Context,
    reached: Positions,
    inputs: OffsetRanges,
    written: OffsetRanges,
) -> list[Found]:
    from streamsql.executor.reruns.verifying import Verification

    state, plan = context.state, definition.plan
    lowering = state.launcher.context(definition.properties, None, Mode.MICRO_BATCH)
    exactly_once = plan.guarantee is Guarantee.EXACTLY_ONCE
    lowering = replace(lowering, committed_only=exactly_once or definition.is_view)
    name = state.pushes.topic_for("verify")
    (sink,) = written
    try:
        return Verification(plan, lowering, reached, inputs, sink, written, name).results()
    finally:
        state.launcher.stopped(name)


def _remarks(
    definition: Definition, inputs: OffsetRanges, written: OffsetRanges, *, changed: bool
) -> list[str]:
    """Harmless causes of differences."""
    remarks = [
        f"{topic}, partition {p}, begins at offset {first}: earlier records are not compared."
        for topic, partitions in {**inputs, **written}.items()
        for p, (first, _) in partitions.items()
        if first > 0 and not (definition.starting_offsets or {}).get(topic)
    ]
    if changed:
        remarks.append(
            f"The statement of {definition.id} has changed since it started: earlier rows are "
            "compared "
            "with the result of the current statement."
        )
    return remarks


def _rows(found: Iterable[Found], sink: str, title: str) -> Rows:
    rows: list[tuple[Value, ...]] = []
    for each in found:
        examples = [_text(example, sink) for example in each.examples] or [""]
        rows.append((each.finding.value, each.count, examples[0]))
        rows += [("", None, text) for text in examples[1:]]
    return Rows(tuple(map(Field, FIELDS)), rows, title)


def _text(example: Example, sink: str) -> str:
    parts = [f"key {_shown(example.key)}"]
    if example.expected != example.found:
        parts.append(f"expected {_shown(example.expected)}")
    if example.cause is not None:
        topic, partition, offset = example.cause
        parts.append(f"of {topic}, partition {partition}, offset {offset}")
    if example.place is not None:
        partition, offset = example.place
        parts.append(f"{sink}, partition {partition}, offset {offset} has {_shown(example.found)}")
    return "; ".join(parts)


def _shown(data: bytes | None) -> str:
    if data is None:
        return "none"
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.."
