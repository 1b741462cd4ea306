"""How much a query has to do: by that the task slots are shared out."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.executor.queries.checkpoint import Positions

_MEMORY_SECONDS = 10.0


@dataclass
class Use:
    """How busy a query is."""

    rate: float = 0.0
    """Records a second, of late."""
    asleep_since: float | None = None
    _read: int | None = None
    _at: float = 0.0

    def slept(self, now: float) -> float:
        """Seconds since it last got a record."""
        return 0.0 if self.asleep_since is None else now - self.asleep_since

    def saw(self, positions: Positions | None, asleep: bool, now: float) -> None:
        """Note how far it has read, and whether it sleeps."""
        if not asleep:
            self.asleep_since = None
        elif self.asleep_since is None:
            self.asleep_since, self.rate = now, 0.0
        if positions is None or now <= self._at:
            return
        read = sum(sum(partitions.values()) for partitions in positions.values())
        if self._read is not None and read >= self._read:
            share = min(1.0, (now - self._at) / _MEMORY_SECONDS)
            self.rate += share * ((read - self._read) / (now - self._at) - self.rate)
        self._read, self._at = read, now
