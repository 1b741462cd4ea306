"""The offset ranges that a batch reads, and its errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from streamsql.errors import ExternalError
from streamsql.executor.queries.spark_run import classify
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.start_offsets import offsets_of
from streamsql.nodes import StartPosition
from streamsql.results import Row

OffsetRanges = dict[str, dict[int, tuple[int, int]]]
"""By topic and partition: the first offset and the exclusive end."""


def offset_ranges(
    topics: Iterable[str], starts: Mapping[str, StartPosition], client: KafkaClient
) -> OffsetRanges:
    """All present records of the topics, from the query's start positions."""
    found = {}
    for topic in topics:
        start = starts.get(topic)
        ends = client.end_offsets(topic)
        begin = offsets_of(start, topic, client) if start else client.begin_offsets(topic)
        found[topic] = {p: (min(begin[p], end), end) for p, end in ends.items()}
    return found


def guarded(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows; ExternalError if Spark fails meanwhile."""
    with reported_as("the query"):
        yield from rows


@contextmanager
def reported_as(what: str) -> Iterator[None]:
    """Turns a failure of Spark into an ExternalError that names `what`."""
    from streamsql.executor.spark.failures import SPARK_FAILURES, without_value

    try:
        yield
    except SPARK_FAILURES as error:
        if (of_row := without_value(error)) is not None:
            raise of_row from error
        failure = classify(error)
        raise ExternalError(
            f"{what} failed: {failure.text}", retryable=failure.retryable
        ) from error
