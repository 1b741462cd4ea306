"""Responses of POST /ksql: an entity per statement in ksqlDB's form."""

from __future__ import annotations

from streamsql.server.entities import (
    assertions,
    commands,
    connectors,
    lineage,
    listings,
    queries,
    sources,
)
from streamsql.server.entities.base import JSON, Builder, Executed, statement_text
from streamsql.server.state.command_statuses import CommandStatus, CommandStatuses

__all__ = [
    "BUILDERS",
    "CommandStatus",
    "CommandStatuses",
    "Executed",
    "entity",
    "statement_text",
]

BUILDERS: dict[str, Builder] = {
    "ControlQuery": commands.controlled,
    "Show": listings.listed,
    "ShowLineage": lineage.shown,
    "Describe": sources.described,
    "DescribeAll": sources.described_all,
    "DescribeFunction": listings.described_function,
    "DescribeSink": listings.described_sink,
    "Explain": queries.explained,
    "CreateConnector": connectors.created,
    "DropConnector": connectors.dropped,
    "DescribeConnector": connectors.described,
    "AssertTopic": assertions.topic,
    "AssertSchema": assertions.schema,
}
"""Builders of statements with a specific entity in ksqlDB, by kind."""


def entity(executed: Executed) -> JSON | None:
    """The entity of a statement, or None. Statements without a specific entity in ksqlDB have a
    command status if they are logged, otherwise their rows."""
    statement = executed.statement
    default = commands.current_status if statement.logged else listings.rows
    return BUILDERS.get(statement.kind, default)(executed)
