"""ASSERT TOPIC and ASSERT SCHEMA that held."""

from __future__ import annotations

from streamsql import nodes
from streamsql.server.entities.base import JSON, Executed


def topic(statement: nodes.AssertTopic, executed: Executed) -> JSON:
    return executed.entity("assert_topic", topicName=statement.topic, exists=statement.exists)


def schema(statement: nodes.AssertSchema, executed: Executed) -> JSON:
    return executed.entity(
        "assert_schema", subject=statement.subject, id=statement.id, exists=statement.exists
    )
