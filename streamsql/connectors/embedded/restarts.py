"""When the failed tasks of connectors are restarted: after delays that grow with each failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from streamsql.connectors.client import Connector, cause
from streamsql.waiting import Backoff

DELAYS = Backoff(1.0, 300.0)
STABLE_SECONDS = 120.0
"""A connector that has run for so long starts again at the first delay."""


@dataclass(frozen=True)
class Failures:
    """Consecutive failures of a connector or its tasks; times in seconds since the Unix epoch."""

    count: int
    cause: str
    since: float
    """Time of the last failure, or of the restart after it."""
    restarts_at: float | None
    """None: it has been restarted."""


class Restarts:
    """One thread notes what it sees, any thread reads."""

    def __init__(self) -> None:
        self._failures: dict[str, Failures] = {}

    def of(self, name: str) -> Failures | None:
        return self._failures.get(name)

    def due(self, connectors: Iterable[Connector], now: float) -> Iterator[str]:
        """Notes the state of all connectors; the names of those to restart now."""
        found = {connector.name: connector.failure for connector in connectors}
        for name in self._failures.keys() - found.keys():
            del self._failures[name]
        for name, trace in found.items():
            known = self._failures.get(name)
            if trace is None:
                self._runs(name, known, now)
            elif known is None or known.restarts_at is None:
                count = known.count + 1 if known else 1
                at = now + DELAYS.after(count)
                self._failures[name] = Failures(count, cause(trace), now, at)
            elif known.restarts_at <= now:
                yield name

    def restarted(self, name: str, now: float) -> None:
        self._failures[name] = replace(self._failures[name], since=now, restarts_at=None)

    def _runs(self, name: str, known: Failures | None, now: float) -> None:
        if known is None:
            return
        if known.restarts_at is not None:
            self.restarted(name, now)
        elif now - known.since > STABLE_SECONDS:
            del self._failures[name]
