"""Status of commands by id: recent ones, and those with existing results."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streamsql.api.facts import SourceFacts

REMEMBERED = 1000
"""Number of cached commands; older ones are known only by their results."""


@dataclass(frozen=True)
class CommandStatus:
    """`status` is one of QUEUED, EXECUTING, TERMINATED, SUCCESS and ERROR."""

    status: str
    message: str
    query_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "message": self.message, "queryId": self.query_id}


class CommandStatuses:
    """Thread-safe."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._statuses: OrderedDict[str, CommandStatus] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, command_id: str, status: CommandStatus) -> None:
        """Replaces the previous status of the id."""
        with self._lock:
            self._statuses.pop(command_id, None)
            self._statuses[command_id] = status
            if len(self._statuses) > self._remembered:
                self._statuses.popitem(last=False)

    def get(self, command_id: str, sources: Iterable[SourceFacts]) -> CommandStatus | None:
        """None for an unknown command; names may be in backticks."""
        return self.all(sources).get(command_id.replace("`", ""))

    def all(self, sources: Iterable[SourceFacts]) -> dict[str, CommandStatus]:
        """Commands of previous runs are derived from existing objects."""
        with self._lock:
            return _made(sources) | self._statuses


def _made(sources: Iterable[SourceFacts]) -> dict[str, CommandStatus]:
    made = {}
    for source in sources:
        query = source.created_by
        kind = source.kind.value
        text = f"Created query with ID {query}" if query else f"{kind.capitalize()} created"
        made[f"{kind.lower()}/{source.name}/create"] = CommandStatus("SUCCESS", text, query)
    return made
