"""The answers of POST /ksql: an entity for each statement, in the shapes of ksqlDB.

They tell in JSON what executing a statement gave; what a statement does is the engine's business.
"""

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
"""Statements whose answers have a shape of their own in ksqlDB, by their kinds."""


def entity(executed: Executed) -> JSON | None:
    """What the answer holds for a statement, None where it holds nothing.

    Where ksqlDB has no shape of its own for it: a command's status if the statement is logged, else
    the rows that it gave.
    """
    statement = executed.statement
    default = commands.current_status if statement.logged else listings.rows
    return BUILDERS.get(statement.kind, default)(executed)
