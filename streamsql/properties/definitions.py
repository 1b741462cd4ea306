"""Definition of a property."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PropertyType(Enum):
    """Type of a property's value."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"


@dataclass(frozen=True)
class PropertyDefinition:
    """One property; `default` None means unset; `choices` in the spelling that is stored."""

    name: str
    type: PropertyType
    default: str | None
    doc: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 2**31 - 1
    secret: bool = False
    """Whether results hide its value."""
    at_start: bool = False
    """Whether it is fixed at the start of the engine."""
