"""ASSERT TOPIC: waits until a topic is as expected, or fails."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.errors import CatalogError
from streamsql.executor.kafka import KafkaClient
from streamsql.executor.state import Context
from streamsql.nodes import AssertTopic
from streamsql.properties import ASSERT_TOPIC_TIMEOUT, get_int
from streamsql.results import Message, Result

POLL_SECONDS = 0.1


def assert_topic(statement: AssertTopic, context: Context) -> Iterable[Result]:
    """ASSERT [NOT EXISTS] TOPIC: looks again and again until it is so or the time is up."""
    context.plan(statement)
    if statement.timeout is not None:
        timeout_ms = statement.timeout.ms
    else:
        timeout_ms = get_int(context.session.properties, ASSERT_TOPIC_TIMEOUT)
    client = context.state.services.kafka.get()
    deadline = time.monotonic() + timeout_ms / 1000
    while (problem := _problem(client, statement)) is not None:
        if time.monotonic() >= deadline:
            raise CatalogError(problem, span=statement.span)
        time.sleep(POLL_SECONDS)
    verb = "exists" if statement.exists else "does not exist"
    return [Message(f"Topic {statement.topic} {verb}.")]


def _problem(client: KafkaClient, statement: AssertTopic) -> str | None:
    """Why the assertion does not hold just now."""
    found = client.describe(statement.topic)
    if not statement.exists:
        return None if found is None else f"Topic {statement.topic} exists."
    if found is None:
        return f"Topic {statement.topic} does not exist."
    actual = {"PARTITIONS": found.partitions, "REPLICAS": found.replicas}
    wrong = [
        f"- Mismatched configuration for topic {statement.topic}: For config "
        f"{p.name.lower()}, expected {p.value} got {actual[p.name]}"
        for p in statement.properties
        if p.name in actual and p.value != actual[p.name]
    ]
    return "\n".join(wrong) or None
