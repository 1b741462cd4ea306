"""When a query leaves real time for micro-batches, which do less work for a record, and returns.

A switch costs a start of the query, about a second without results. So a query leaves after half a
minute of falling behind, and returns after half a minute with a small lag. Where real time did not
last the next return comes later.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGE_LAG_SECONDS, LEAVES_SECONDS = 5.0, 30.0
"""A query falls behind while more records wait than it processes in LARGE_LAG_SECONDS, and their
number does not go down."""
LEAST_RATE = 10.0
"""Records a second. A query that processes fewer may wait for something else than a processor."""
SMALL_LAG_SECONDS, RETURNS_SECONDS = 2.5, 30.0
"""In micro-batches the lag includes what comes in the interval between two batches."""
LASTED_SECONDS, MOST_RETURNS_SECONDS = 300.0, 480.0
"""After a stay in real time of less than LASTED_SECONDS the next return takes twice as long."""
REASON = (
    "it fell behind in real time; it returns once its lag has been small for half a minute or more"
)


@dataclass
class ModeSwitch:
    """One query's; times are those of `time.monotonic()`, rates are in records a second."""

    fell_behind: bool = False
    """Whether its next live run is to be in micro-batches."""
    _large: tuple[float, int] | None = None
    """Since when the lag has been large, and the lag then."""
    _small_since: float | None = None
    _returned_at: float = float("-inf")
    _returns_after: float = RETURNS_SECONDS

    def begun(self) -> None:
        """A run has begun: what the lag was before says nothing of it."""
        self._large = self._small_since = None

    def leaves(self, lag: int, rate: float, now: float) -> bool:
        """Whether a query in real time has fallen behind; asked about once a second."""
        if rate < LEAST_RATE or lag < LARGE_LAG_SECONDS * rate:
            self._large = None
        elif self._large is None or lag < self._large[1]:
            self._large = now, lag
        if self._large is None or now - self._large[0] <= LEAVES_SECONDS:
            return False
        lasted = now - self._returned_at >= LASTED_SECONDS
        again = min(2 * self._returns_after, MOST_RETURNS_SECONDS)
        self._returns_after = RETURNS_SECONDS if lasted else again
        self.fell_behind = True
        return True

    def returns(self, lag: int, rate: float, now: float) -> bool:
        """Whether a query that fell behind is to run in real time again."""
        if lag > SMALL_LAG_SECONDS * rate:
            self._small_since = None
        elif self._small_since is None:
            self._small_since = now
        if self._small_since is None or now - self._small_since < self._returns_after:
            return False
        self.fell_behind, self._returned_at = False, now
        return True
