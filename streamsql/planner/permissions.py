"""The role that a statement requires, by its kind and its plan. Internal topics are independent of
roles: the planner rejects them (planner/internal_topics.py)."""

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
"""Minimum role by effect of a statement."""


def needed(statement: nodes.Statement) -> Role:
    if isinstance(statement, nodes.SetProperty) and _is_for_admins(statement.name):
        return Role.ADMIN
    if isinstance(statement, nodes.CreateSource) and statement.captures:
        return Role.ADMIN  # Its plan asks the database.
    return ROLES[statement.effect]


def check(statement: nodes.Statement, session: Session) -> None:
    """Raises ForbiddenError if the session's role does not permit the kind of statement."""
    _check(needed(statement), statement, session)


def check_plan(statement: nodes.Statement, planned: Planned, session: Session) -> None:
    """Raises ForbiddenError if the session's role does not permit the plan."""
    if planned.touches.beyond:
        _check(Role.ADMIN, statement, session)


def _check(least: Role, statement: nodes.Statement, session: Session) -> None:
    if session.role is None or session.role.may(least):
        return
    raise ForbiddenError(
        f"this statement requires the role {least.value}; your role is {session.role.value}",
        span=statement.span,
    )


def _is_for_admins(name: str) -> bool:
    try:
        return resolve(name).name in ADMINS
    except ConfigError:
        return False
