"""What is to be said of a property."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PropertyType(Enum):
    """What the text of a property's value must be."""

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
    minimum: int | None = None
    maximum: int | None = None
    secret: bool = False
    """Whether no result may show its value."""
    at_start: bool = False
    """Whether it is told when the engine is started, and stays as it is then."""
