"""Successful ASSERT TOPIC and ASSERT SCHEMA."""

from __future__ import annotations

from streamsql.server.entities.base import JSON, Executed


def topic(executed: Executed) -> JSON:
    statement = executed.statement
    return executed.entity("assert_topic", topicName=statement.name, exists=statement.exists)


def schema(executed: Executed) -> JSON:
    statement = executed.statement
    return executed.entity(
        "assert_schema",
        subject=statement.name,
        id=statement.schema_id,
        exists=statement.exists,
    )
