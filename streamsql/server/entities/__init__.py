"""The answers of POST /ksql: an entity for each statement, in the shapes of ksqlDB.

They tell in JSON what executing a statement gave; what a statement does is the engine's business.
"""

from __future__ import annotations

from streamsql import nodes
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

BUILDERS: dict[type[nodes.Statement], Builder] = {
    nodes.CreateSource: commands.current_status,
    nodes.DropSource: commands.current_status,
    nodes.AlterSource: commands.current_status,
    nodes.CreateView: commands.current_status,
    nodes.DropView: commands.current_status,
    nodes.CreateFunction: commands.current_status,
    nodes.DropFunction: commands.current_status,
    nodes.CreateType: commands.current_status,
    nodes.DropType: commands.current_status,
    nodes.CreateAsSelect: commands.current_status,
    nodes.InsertInto: commands.current_status,
    nodes.ControlQuery: commands.controlled,
    nodes.InsertValues: commands.nothing,
    nodes.SetProperty: commands.nothing,
    nodes.UnsetProperty: commands.nothing,
    nodes.DefineVariable: commands.nothing,
    nodes.UndefineVariable: commands.nothing,
    nodes.Show: listings.listed,
    nodes.Describe: sources.described,
    nodes.DescribeAll: sources.described_all,
    nodes.DescribeFunction: listings.described_function,
    nodes.Explain: queries.explained,
    nodes.CreateConnector: connectors.created,
    nodes.DropConnector: connectors.dropped,
    nodes.DescribeConnector: connectors.described,
    nodes.AssertTopic: assertions.topic,
    nodes.AssertSchema: assertions.schema,
}


def entity(executed: Executed) -> JSON | None:
    """What the answer holds for a statement, None where it holds nothing."""
    kind = type(executed.statement)
    builder = BUILDERS.get(kind)
    if builder is None:
        raise InternalError(f"no entity for {kind.__name__}")
    return builder(executed.statement, executed)
