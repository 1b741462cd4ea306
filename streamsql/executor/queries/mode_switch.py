"""Moves a query from real time to micro-batches, which do less work per record, and back.

A switch costs a start of the query, about a second without results. So a query leaves real time
after half a minute of falling behind, and returns after half a minute with a small lag. If real
time did not last, the next return comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LARGE_LAG_SECONDS, LEAVES_SECONDS = 5.0, 30.0
"""A query falls behind while more records wait than it processes in LARGE_LAG_SECONDS, and their
number does not go down."""
LEAST_RATE = 10.0
"""Records per second. A slower query may wait for something else than a processor."""
SMALL_LAG_SECONDS, RETURNS_SECONDS = 2.5, 30.0
"""In micro-batches the lag includes what comes in the interval between two batches."""
LASTED_SECONDS, MOST_RETURNS_SECONDS = 300.0, 480.0
"""After a stay in real time of less than LASTED_SECONDS the next return takes twice as long."""
REASON = (
    "it fell behind in real time; it returns once its lag has been small for at least half a minute"
)


@dataclass(frozen=True)
class ModeSwitch:
    """The mode switch of one query; times are those of `time.monotonic()`, rates are in records per
    second."""

    fell_behind: bool = False
    """Whether its next live run is in micro-batches."""
    _large: tuple[float, int] | None = None
    """Since when the lag has been large, and the lag then."""
    _small_since: float | None = None
    _returned_at: float = float("-inf")
    _returns_after: float = RETURNS_SECONDS

    def begun(self) -> ModeSwitch:
        """A run begins: earlier lags do not apply to it."""
        return replace(self, _large=None, _small_since=None)

    def after(self, lag: int, rate: float, now: float) -> ModeSwitch:
        """After a check, about once a second; a query changes its mode when `fell_behind` does."""
        return (self._in_batches if self.fell_behind else self._in_real_time)(lag, rate, now)

    def _in_real_time(self, lag: int, rate: float, now: float) -> ModeSwitch:
        large = self._large
        if rate < LEAST_RATE or lag < LARGE_LAG_SECONDS * rate:
            large = None
        elif large is None or lag < large[1]:
            large = now, lag
        if large is None or now - large[0] <= LEAVES_SECONDS:
            return replace(self, _large=large)
        lasted = now - self._returned_at >= LASTED_SECONDS
        again = min(2 * self._returns_after, MOST_RETURNS_SECONDS)
        return replace(
            self,
            fell_behind=True,
            _large=large,
            _returns_after=RETURNS_SECONDS if lasted else again,
        )

    def _in_batches(self, lag: int, rate: float, now: float) -> ModeSwitch:
        since = self._small_since
        if lag > SMALL_LAG_SECONDS * rate:
            since = None
        elif since is None:
            since = now
        if since is None or now - since < self._returns_after:
            return replace(self, _small_since=since)
        return replace(self, fell_behind=False, _small_since=since, _returned_at=now)
