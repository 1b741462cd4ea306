"""Latencies in a memory that does not grow with their number."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEAST_MS = 0.01
_GROWTH = 1.01
"""A class's upper bound to the one before: how exact percentiles are."""
STALL_MS = 100.0
LATE_MS = 50.0


class Latencies:
    """How long records took: percentiles to 1%, and the worst of each second exactly.

    A record counts for the second in which it was sent, so that a standstill of three seconds is
    three bad seconds, though all that it held up comes in one.
    """

    def __init__(self, begin: float) -> None:
        """`begin` is the first second's begin, in seconds of the clock that stamps the records."""
        self._begin = begin
        self._classes: dict[int, int] = {}
        self._worst: dict[int, float] = {}
        self._late: dict[int, int] = {}
        self.count = 0

    def add(self, sent: float, arrived: float) -> None:
        """A record, by the clock in seconds; one that was sent before the begin does not count."""
        if sent < self._begin:
            return
        took = max(_LEAST_MS, 1000 * (arrived - sent))
        place = math.ceil(math.log(took / _LEAST_MS, _GROWTH))
        self._classes[place] = self._classes.get(place, 0) + 1
        self.count += 1
        if took > LATE_MS:
            tenth = int(10 * (sent - self._begin))
            self._late[tenth] = self._late.get(tenth, 0) + 1
        second = int(sent - self._begin)
        self._worst[second] = max(took, self._worst.get(second, 0.0))

    @property
    def seconds(self) -> list[float | None]:
        """The worst latency (ms) of each second, None where nothing was sent."""
        return [self._worst.get(second) for second in range(max(self._worst, default=-1) + 1)]

    @property
    def max_ms(self) -> float:
        return max(self._worst.values(), default=math.nan)

    @property
    def worst_second(self) -> int | None:
        """The second of the worst latency, from 0; None where nothing was added."""
        return max(self._worst, key=lambda second: self._worst[second], default=None)

    @property
    def stalled_seconds(self) -> int:
        """Seconds whose worst latency was over STALL_MS."""
        return sum(worst > STALL_MS for worst in self._worst.values())

    def late_percent(self, spans: Sequence[tuple[float, float]]) -> float:
        """The percentage of all records that took over LATE_MS and were sent in one of the spans,
        in seconds of the same clock."""
        found = sum(
            count
            for tenth, count in self._late.items()
            if any(first <= self._begin + tenth / 10 <= last for first, last in spans)
        )
        return 100 * found / self.count if self.count else math.nan

    def percentile(self, percent: float) -> float:
        """In ms; NaN where nothing was added."""
        rank, seen = math.ceil(self.count * percent / 100), 0
        for place in sorted(self._classes):
            seen += self._classes[place]
            if seen >= rank:
                return min(self.max_ms, _LEAST_MS * _GROWTH**place)
        return math.nan
