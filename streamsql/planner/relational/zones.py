"""Time zones by an offset, whose sign is that of POSIX: `+08:00` is west of Greenwich."""

from __future__ import annotations

import re

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import typed
from streamsql.planner.relational.intervals import computed
from streamsql.types import STRING

_NAME = "(?:<[^>]*>|[A-Za-z]*)"
_AMOUNT = "[0-9]{1,2}(?::[0-9]{2}){0,2}"
_OFFSET = re.compile(f"{_NAME}([+-]?)({_AMOUNT})")
_SIGNED = f"REGEXP_REPLACE(v.z, '^{_NAME}', '')"
_COMPUTED = (
    f"IF(v.z RLIKE '^{_NAME}[+-]?{_AMOUNT}$', IF(STARTSWITH({_SIGNED}, '-'), "
    f"REPLACE({_SIGNED}, '-', '+'), CONCAT('-', REPLACE({_SIGNED}, '+', ''))), v.z)"
)


def of_posix(zone: Expression) -> Expression:
    """The zone by the name that Spark has for it: the sign of an offset is that of ISO 8601."""
    if not isinstance(zone, exp.Literal):
        return computed(_COMPUTED, STRING, z=zone)
    found = _OFFSET.fullmatch(zone.name.strip())
    if found is None:
        return zone
    sign, amount = found.groups()
    return typed(exp.Literal.string(f"{'+' if sign == '-' else '-'}{amount}"), STRING)
