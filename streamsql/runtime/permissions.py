"""Which role a statement needs. One that is in no list needs the highest."""

from __future__ import annotations

from streamsql import nodes
from streamsql.errors import ConfigError, ForbiddenError
from streamsql.properties import CONNECTIONS, resolve
from streamsql.roles import Role
from streamsql.session import Session

READING: frozenset[type[nodes.Statement]] = frozenset(
    {
        nodes.SelectQuery,
        nodes.Print,
        nodes.Show,
        nodes.Describe,
        nodes.DescribeAll,
        nodes.DescribeFunction,
        nodes.DescribeConnector,
        nodes.Explain,
        nodes.SetProperty,
        nodes.UnsetProperty,
        nodes.DefineVariable,
        nodes.UndefineVariable,
        nodes.AssertTopic,
        nodes.AssertSchema,
        nodes.RunScript,
    }
)
"""Statements that change nothing but the session they are in."""

CHANGING: frozenset[type[nodes.Statement]] = frozenset(
    {
        nodes.CreateSource,
        nodes.DropSource,
        nodes.AlterSource,
        nodes.CreateView,
        nodes.DropView,
        nodes.CreateType,
        nodes.DropType,
        nodes.CreateAsSelect,
        nodes.InsertInto,
        nodes.InsertValues,
        nodes.ControlQuery,
    }
)
"""Statements that change streams, tables, their queries or their data."""

REACHING: frozenset[type[nodes.Statement]] = frozenset(
    {
        nodes.CreateFunction,
        nodes.DropFunction,
        nodes.CreateConnector,
        nodes.DropConnector,
    }
)
"""Statements that run code of the user's, or have another system act."""


INTERNAL_PREFIX = "_streamsql_"
"""Of topics that hold what other users do: their statements with the settings, their queries."""


def needed(statement: nodes.Statement) -> Role:
    """The least role that may run the statement."""
    if isinstance(statement, nodes.SetProperty) and _is_connection(statement.name):
        return Role.ADMIN
    if any(topic.startswith(INTERNAL_PREFIX) for topic in _topics(statement)):
        return Role.ADMIN
    kind = type(statement)
    if kind in READING:
        return Role.READ_ONLY
    return Role.DEVELOPER if kind in CHANGING else Role.ADMIN


def check(statement: nodes.Statement, session: Session) -> None:
    """ForbiddenError where the session's role does not suffice."""
    least = needed(statement)
    if session.role is None or session.role.may(least):
        return
    raise ForbiddenError(
        f"this statement needs the role {least.value}, yours is {session.role.value}",
        span=statement.span,
    )


def _topics(statement: nodes.Statement) -> list[str]:
    """The topics that a statement names."""
    if isinstance(statement, nodes.Print):
        return [statement.topic]
    properties = getattr(statement, "properties", ())
    return [str(p.value) for p in properties if p.name.upper() == "KAFKA_TOPIC"]


def _is_connection(name: str) -> bool:
    try:
        return resolve(name).name in CONNECTIONS
    except ConfigError:
        return False
