"""A user's session: SET properties and DEFINE variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamsql.properties import VARIABLE_SUBSTITUTION, get_bool
from streamsql.roles import Role, current_role


@dataclass
class Session:
    """Properties by their canonical names; variables by upper-case names, as DEFINE stores them."""

    properties: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    remote: bool = False
    """Session of a remote client: RUN SCRIPT reads no local files."""
    role: Role | None = field(default_factory=current_role)
    """Permissions of its statements; None is unrestricted."""
    transaction: dict[str, list[Any]] | None = None
    """Records by topic that wait for COMMIT; None: each statement is a transaction."""

    @property
    def substituted(self) -> Mapping[str, str] | None:
        """Variables for ${name}; None if substitution is disabled."""
        return self.variables if get_bool(self.properties, VARIABLE_SUBSTITUTION) else None
