"""Which role a statement needs: what it can change decides, and whom it may look at."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql import nodes
from streamsql.errors import ConfigError, ForbiddenError
from streamsql.properties import ADMINS, resolve
from streamsql.roles import Role
from streamsql.session import Session

ROLES: Mapping[nodes.Effect, Role] = {
    nodes.Effect.READS: Role.READ_ONLY,
    nodes.Effect.WRITES: Role.DEVELOPER,
    nodes.Effect.DEFINES: Role.DEVELOPER,
    nodes.Effect.DEFINES_CODE: Role.ADMIN,
    nodes.Effect.DEFINES_FILES: Role.ADMIN,
    nodes.Effect.ACTS_OUTSIDE: Role.ADMIN,
}
"""The least role for what a statement can change."""

INTERNAL_PREFIX = "_streamsql_"
"""Of topics that hold what other users do: their statements with the settings, their queries."""


def needed(statement: nodes.Statement) -> Role:
    """The least role that may run the statement."""
    if isinstance(statement, nodes.SetProperty) and _is_for_admins(statement.name):
        return Role.ADMIN
    if isinstance(statement, nodes.CreateSource) and statement.outside:
        return ROLES[nodes.Effect.DEFINES_FILES]
    if any(topic.startswith(INTERNAL_PREFIX) for topic in _topics(statement)):
        return Role.ADMIN
    return ROLES[statement.effect]


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


def _is_for_admins(name: str) -> bool:
    try:
        return resolve(name).name in ADMINS
    except ConfigError:
        return False
