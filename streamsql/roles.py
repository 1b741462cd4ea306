"""Who may do what: three roles, each of which may do what the ones before it may.

A server decides a request's role and has it hold while the request is at work; a session made
meanwhile keeps it. Without a server there is no role, and everything is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Role(Enum):
    """READ_ONLY: queries and descriptions. DEVELOPER: also what changes streams, tables and their
    data. ADMIN: also what reaches beyond them: code, connectors, other systems, the server."""

    READ_ONLY = "read-only"
    DEVELOPER = "developer"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Whether this role suffices where `needed` is."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


_current: ContextVar[Role | None] = ContextVar("role", default=None)


def current_role() -> Role | None:
    """The role of the request that is at work; None outside of any."""
    return _current.get()


def allowed_by_role(needed: Role) -> bool:
    """Whether the request at work may do what needs a role."""
    role = current_role()
    return role is None or role.may(needed)


@contextmanager
def acting_as(role: Role | None) -> Iterator[None]:
    """Have `current_role` be this one within the block, and in tasks that it starts."""
    token = _current.set(role)
    try:
        yield
    finally:
        _current.reset(token)
