"""Which role a statement needs: what kind of statement it is, and what its plan reaches.

Internal topics are no matter of roles: the planner refuses them to everybody
(planner/internal_topics.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from streamsql import nodes
from streamsql.errors import ConfigError, ForbiddenError
from streamsql.planner.plans.statements import Planned
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


def needed(statement: nodes.Statement) -> Role:
    """The least role that may have the statement planned."""
    if isinstance(statement, nodes.SetProperty) and _is_for_admins(statement.name):
        return Role.ADMIN
    return ROLES[statement.effect]


def check(statement: nodes.Statement, session: Session) -> None:
    """ForbiddenError where the session's role does not suffice for such a statement."""
    _check(needed(statement), statement, session)


def check_plan(statement: nodes.Statement, planned: Planned, session: Session) -> None:
    """ForbiddenError where the session's role does not suffice for what the plan reaches."""
    if planned.touches.beyond:
        _check(Role.ADMIN, statement, session)


def _check(least: Role, statement: nodes.Statement, session: Session) -> None:
    if session.role is None or session.role.may(least):
        return
    raise ForbiddenError(
        f"this statement needs the role {least.value}, yours is {session.role.value}",
        span=statement.span,
    )


def _is_for_admins(name: str) -> bool:
    try:
        return resolve(name).name in ADMINS
    except ConfigError:
        return False
