"""ASSERT TOPIC and ASSERT SCHEMA: wait for a condition, or fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streamsql.errors import CatalogError
from streamsql.kafka.client import KafkaClient
from streamsql.nodes import AssertSchema, AssertTopic
from streamsql.properties import ASSERT_SCHEMA_TIMEOUT, ASSERT_TOPIC_TIMEOUT, get_int
from streamsql.registry.client import RegistryClient
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.waiting import await_condition

POLL_SECONDS = 0.1


@handle.register
def assert_topic(statement: AssertTopic, context: Context) -> Iterable[Result]:
    """ASSERT [NOT EXISTS] TOPIC: polls until the condition holds or the timeout ends."""
    context.plan(statement)
    client = context.state.services.kafka.get()
    _await(lambda: _topic_problem(client, statement), statement, context, ASSERT_TOPIC_TIMEOUT)
    return [Message(f"Topic {statement.topic} {_verb(statement)}.")]


@handle.register
def assert_schema(statement: AssertSchema, context: Context) -> Iterable[Result]:
    """ASSERT [NOT EXISTS] SCHEMA: by subject, id or both."""
    context.plan(statement)
    client = context.state.services.registry(context.session.properties)
    _await(lambda: _schema_problem(client, statement), statement, context, ASSERT_SCHEMA_TIMEOUT)
    return [Message(f"{_schema_name(statement)} {_verb(statement)}.")]


def _await(
    problem: Callable[[], str | None],
    statement: AssertTopic | AssertSchema,
    context: Context,
    default_timeout: str,
) -> None:
    """Raises CatalogError with the reason after the statement's timeout."""
    if statement.timeout is not None:
        timeout_ms = statement.timeout.ms
    else:
        timeout_ms = get_int(context.session.properties, default_timeout)
    found: str | None = None

    def holds() -> bool:
        nonlocal found
        found = problem()
        return found is None

    if not await_condition(holds, timeout_ms / 1000, every=POLL_SECONDS):
        raise CatalogError(found or "", span=statement.span)


def _verb(statement: AssertTopic | AssertSchema) -> str:
    return "exists" if statement.exists else "does not exist"


def _topic_problem(client: KafkaClient, statement: AssertTopic) -> str | None:
    """Why the assertion fails at the moment."""
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


def _schema_problem(client: RegistryClient, statement: AssertSchema) -> str | None:
    if client.has(statement.subject, statement.id) == statement.exists:
        return None
    return f"{_schema_name(statement)} {'does not exist' if statement.exists else 'exists'}."


def _schema_name(statement: AssertSchema) -> str:
    parts = ["Schema with"]
    if statement.subject is not None:
        parts.append(f"subject name {statement.subject}")
    if statement.id is not None:
        parts.append(f"id {statement.id}")
    return " ".join(parts)
