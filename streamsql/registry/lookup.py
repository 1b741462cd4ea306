"""Registered schemas for planning: read once, and recorded for a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streamsql.formats.registered import SchemaText

if TYPE_CHECKING:
    from streamsql.registry.client import RegistryClient


class RegistrySchemas:
    """Looks schemas up in a registry, which is connected to only when it is asked."""

    def __init__(self, registry: Callable[[], RegistryClient]) -> None:
        self.registry = registry
        self._told: dict[str, SchemaText | None] = {}

    def schema(self, wanted: str | int) -> SchemaText | None:
        """The latest schema of a subject, or the one of an id; None if unknown."""
        name = str(wanted)
        if name not in self._told:
            client = self.registry()
            found = client.by_id(wanted) if isinstance(wanted, int) else client.latest(wanted)
            self._told[name] = found
        return self._told[name]

    def to_json(self) -> dict[str, dict[str, Any] | None]:
        """Recorded lookups, for `RememberedSchemas`."""
        return {name: asdict(s) if s is not None else None for name, s in self._told.items()}


class RememberedSchemas:
    """Returns the recorded lookups of a planned statement."""

    def __init__(self, facts: Mapping[str, Mapping[str, Any] | None]) -> None:
        self._facts = facts

    def schema(self, wanted: str | int) -> SchemaText | None:
        """The schema as it was then."""
        facts = self._facts.get(str(wanted))
        return None if facts is None else SchemaText(**facts)
