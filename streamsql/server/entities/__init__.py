"""The answers of POST /ksql: an entity for each statement, in the shapes of ksqlDB.

They tell in JSON what executing a statement gave; what a statement does is the engine's business.
"""

from __future__ import annotations

from streamsql.engine import StatementKind
from streamsql.errors import InternalError
from streamsql.server.entities import (
    assertions,
    commands,
    connectors,
    listings,
    queries,
    sources,
)
from streamsql.server.entities.base import JSON, Builder, Executed, statement_text
from streamsql.server.state.statuses import CommandStatus, CommandStatuses

__all__ = [
    "BUILDERS",
    "CommandStatus",
    "CommandStatuses",
    "Executed",
    "entity",
    "statement_text",
]

BUILDERS: dict[StatementKind, Builder] = {
    StatementKind.CREATE_SOURCE: commands.current_status,
    StatementKind.DROP_SOURCE: commands.current_status,
    StatementKind.ALTER_SOURCE: commands.current_status,
    StatementKind.CREATE_VIEW: commands.current_status,
    StatementKind.DROP_VIEW: commands.current_status,
    StatementKind.CREATE_FUNCTION: commands.current_status,
    StatementKind.DROP_FUNCTION: commands.current_status,
    StatementKind.CREATE_TYPE: commands.current_status,
    StatementKind.DROP_TYPE: commands.current_status,
    StatementKind.CREATE_AS_SELECT: commands.current_status,
    StatementKind.INSERT_INTO: commands.current_status,
    StatementKind.CONTROL_QUERY: commands.controlled,
    StatementKind.INSERT_VALUES: commands.nothing,
    StatementKind.SET: commands.nothing,
    StatementKind.UNSET: commands.nothing,
    StatementKind.DEFINE: commands.nothing,
    StatementKind.UNDEFINE: commands.nothing,
    StatementKind.SHOW: listings.listed,
    StatementKind.DESCRIBE: sources.described,
    StatementKind.DESCRIBE_ALL: sources.described_all,
    StatementKind.DESCRIBE_FUNCTION: listings.described_function,
    StatementKind.EXPLAIN: queries.explained,
    StatementKind.CREATE_CONNECTOR: connectors.created,
    StatementKind.DROP_CONNECTOR: connectors.dropped,
    StatementKind.DESCRIBE_CONNECTOR: connectors.described,
    StatementKind.ASSERT_TOPIC: assertions.topic,
    StatementKind.ASSERT_SCHEMA: assertions.schema,
}


def entity(executed: Executed) -> JSON | None:
    """What the answer holds for a statement, None where it holds nothing."""
    kind = executed.statement.kind
    builder = BUILDERS.get(kind)
    if builder is None:
        raise InternalError(f"no entity for {kind.value}")
    return builder(executed)
