"""FROM BEGINNING | LATEST | TIMESTAMP | OFFSETS: the start positions of a query's topics."""

from __future__ import annotations

from streamsql.errors import PlanError
from streamsql.nodes import Start, StartPosition
from streamsql.planner.operators import Operator, Scan, operators
from streamsql.planner.types.timestamps import parse_timestamp
from streamsql.types import quote


def starts_of(root: Operator) -> dict[str, StartPosition]:
    """The positions by topic; PlanError for an invalid one, or two for one topic."""
    scans = [operator for operator in operators(root) if isinstance(operator, Scan)]
    found: dict[str, StartPosition] = {}
    for scan in scans:
        if scan.start is None:
            continue
        _check(scan, scan.start)
        topic = scan.source.topic.name
        others = [s for s in scans if s.source.topic.name == topic and s.start != scan.start]
        if others:
            raise PlanError(
                f"{quote(scan.source.name)} is read from two start positions.",
                hint="Use one start position in all clauses of the query that read it.",
                span=scan.start.span,
            )
        found[topic] = scan.start
    return found


def _check(scan: Scan, start: StartPosition) -> None:
    if start.start is Start.TIMESTAMP and timestamp_of(start) is None:
        raise PlanError(
            f"Failed to parse timestamp '{start.timestamp}'",
            hint="Write it as '2024-05-01T12:30:00' or in milliseconds since the epoch.",
            span=start.span,
        )
    count = scan.source.topic.partitions
    missing = [p for p, _ in start.offsets if count is not None and p >= count]
    if missing:
        raise PlanError(
            f"The topic of {quote(scan.source.name)} has no partition {missing[0]}.",
            hint=f"Its partitions are 0 to {(count or 1) - 1}.",
            span=start.span,
        )


def timestamp_of(start: StartPosition) -> int | None:
    """Milliseconds since the epoch; None for a text that is not a timestamp."""
    text = (start.timestamp or "").strip()
    # Four digits are a year.
    if text.isascii() and text.isdecimal() and len(text) > 4:
        return int(text)
    return parse_timestamp(text)
