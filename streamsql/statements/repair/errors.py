"""DESCRIBE ERRORS: the processing log by query and reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from streamsql.errors import BindError, did_you_mean
from streamsql.nodes import DescribeErrors
from streamsql.results import Field, Result, Rows, Value
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.repair.entries import Failure, failures

FIELDS = ("Query", "Step", "Reason", "Entries", "Last", "Example")
MOST_REASONS = 1_000
"""Maximum number of distinct reasons, which bounds memory."""
OTHERS = "(other reasons)"
_LONGEST = 300


@dataclass
class _Group:
    example: Failure
    count: int = 0
    last: int = 0


@handle.register
def describe_errors(statement: DescribeErrors, context: Context) -> Iterable[Result]:
    wanted = statement.query_id
    found = failures(context.state.services.kafka.get())
    rows = grouped(f for f in found if wanted is None or f.query_id.upper() == wanted)
    queries = context.state.catalog.queries
    if wanted is not None and not rows and wanted not in queries:
        raise BindError(
            f"unknown query {wanted}, and the processing log has no entries of it",
            hint=did_you_mean(wanted, queries) or "SHOW QUERIES lists the queries.",
            span=statement.span,
        )
    return [Rows(tuple(map(Field, FIELDS)), rows)]


def grouped(found: Iterable[Failure]) -> list[tuple[Value, ...]]:
    """A row per query and reason, the most frequent first, with its newest example."""
    groups: dict[tuple[str, str, str], _Group] = {}
    for failure in found:
        name = (failure.query_id, failure.step, failure.reason[:_LONGEST])
        if name not in groups and len(groups) >= MOST_REASONS:
            name = (failure.query_id, "", OTHERS)
        group = groups.setdefault(name, _Group(failure))
        group.count += 1
        group.last = max(group.last, failure.time)
        group.example = failure
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -item[1].count, item[0]))
    return [
        (query_id, step, reason, group.count, _time(group.last), _example(group.example))
        for (query_id, step, reason), group in ordered
    ]


def _example(failure: Failure) -> str:
    text = failure.text[:_LONGEST]
    return f"{failure.place}: {text}" if failure.place is not None else text


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
