"""Roles, each of which includes the permissions of the previous ones. A server sets the role of a
request for its duration; a session created during the request keeps it. Without a server there is
no role, and everything is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Role(Enum):
    """READ_ONLY: queries and descriptions. DEVELOPER: also streams, tables and their data. ADMIN:
    also code, connectors, other systems and the server."""

    READ_ONLY = "read-only"
    DEVELOPER = "developer"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Whether this role includes `needed`."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


_current: ContextVar[Role | None] = ContextVar("role", default=None)


def current_role() -> Role | None:
    """Role of the current request; None outside of a request."""
    return _current.get()


def allowed_by_role(needed: Role) -> bool:
    """Whether the current request has the permissions of a role."""
    role = current_role()
    return role is None or role.may(needed)


@contextmanager
def acting_as(role: Role | None) -> Iterator[None]:
    """Sets `current_role` within the block and in tasks started there."""
    token = _current.set(role)
    try:
        yield
    finally:
        _current.reset(token)
