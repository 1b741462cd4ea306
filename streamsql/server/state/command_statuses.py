"""What became of commands, by their ids: those of late, and those whose effect is still there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streamsql.api.facts import SourceFacts

REMEMBERED = 1000
"""Commands; older ones are known only by what they have made."""


@dataclass(frozen=True)
class CommandStatus:
    """`status` is one of QUEUED, EXECUTING, TERMINATED, SUCCESS and ERROR."""

    status: str
    message: str
    query_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As answers have it."""
        return {"status": self.status, "message": self.message, "queryId": self.query_id}


class CommandStatuses:
    """May be used from several threads."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._statuses: OrderedDict[str, CommandStatus] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, command_id: str, status: CommandStatus) -> None:
        """The latest of a command id counts."""
        with self._lock:
            self._statuses.pop(command_id, None)
            self._statuses[command_id] = status
            if len(self._statuses) > self._remembered:
                self._statuses.popitem(last=False)

    def get(self, command_id: str, sources: Iterable[SourceFacts]) -> CommandStatus | None:
        """None for a command that is not known; names may stand between backticks."""
        return self.all(sources).get(command_id.replace("`", ""))

    def all(self, sources: Iterable[SourceFacts]) -> dict[str, CommandStatus]:
        """Statements of an earlier life of the server are told by what there is of them."""
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
