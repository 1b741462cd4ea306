"""What belongs to one user at work: the properties of SET and the variables of DEFINE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamsql.properties import VARIABLE_SUBSTITUTION, get_bool
from streamsql.roles import Role, current_role


@dataclass
class Session:
    """Properties by their canonical names; variables by upper-case names, as DEFINE stores them."""

    properties: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    remote: bool = False
    """Of somebody on another machine: RUN SCRIPT reads no file of this one."""
    role: Role | None = field(default_factory=current_role)
    """What its statements may do; None is everything."""

    @property
    def substituted(self) -> Mapping[str, str] | None:
        """The variables that ${name} stands for in its statements; None where that is off."""
        return self.variables if get_bool(self.properties, VARIABLE_SUBSTITUTION) else None
