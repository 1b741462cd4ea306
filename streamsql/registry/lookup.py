"""Registered schemas and tables of databases for planning: read once, and recorded for a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Capture
from streamsql.formats.registered import SchemaText

if TYPE_CHECKING:
    from streamsql.registry.client import RegistryClient


class RegistrySchemas:
    """Looks schemas up in a registry, which is connected to only when it is asked."""

    def __init__(
        self,
        registry: Callable[[], RegistryClient],
        described: Callable[[Capture], str] | None = None,
    ) -> None:
        """`described`: the columns of a table; None: databases are not asked."""
        self.registry = registry
        self._described = described
        self._told: dict[str, SchemaText | None] = {}

    def schema(self, wanted: str | int) -> SchemaText | None:
        """The latest schema of a subject, or the one of an id; None if unknown."""
        name = str(wanted)
        if name not in self._told:
            client = self.registry()
            found = client.by_id(wanted) if isinstance(wanted, int) else client.latest(wanted)
            self._told[name] = found
        return self._told[name]

    def table(self, capture: Capture) -> SchemaText | None:
        """The columns of a database's table; None if databases are not asked."""
        name = capture.place
        if name not in self._told and self._described is not None:
            self._told[name] = SchemaText("POSTGRES", self._described(capture))
        return self._told.get(name)

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

    def table(self, capture: Capture) -> SchemaText | None:
        """The columns as they were then."""
        return self.schema(capture.place)
