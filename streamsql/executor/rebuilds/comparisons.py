"""The comparisons of tables' topics before their queries switch.

Kept in memory: without one, the topics are compared as a whole.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamsql.executor.rebuilds.corrections import Comparison


class Comparisons:
    """Comparisons of rebuilt tables, by result topic. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, Comparison] = {}

    def keep(self, topic: str, found: Comparison) -> None:
        self.release(topic)
        with self._lock:
            self._found[topic] = found

    def of(self, topic: str) -> Comparison | None:
        with self._lock:
            return self._found.get(topic)

    def release(self, topic: str) -> None:
        with self._lock:
            found = self._found.pop(topic, None)
        if found is not None:
            found.release()
