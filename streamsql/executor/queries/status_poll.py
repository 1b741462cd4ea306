"""Every lag that is shown or decided by comes from one moment: the end of a topic a second after
the position of its reader would show a lag that never was."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streamsql.executor.spark.messages import Status
from streamsql.kafka.positions import Positions, distance


@dataclass(frozen=True)
class Moment:
    """Where topics ended and, some milliseconds later, how far queries had read."""

    ends: Positions = field(default_factory=dict)
    """Without the topics that could not be asked."""
    status: Status = field(default_factory=Status)
    at: float = field(default_factory=time.time)
    """Between the two, in seconds since 1970."""
    taken: float = field(default_factory=time.monotonic)
    """The same by the monotonic clock."""

    @staticmethod
    def now(ends: Positions, status: Callable[[], Status]) -> Moment:
        """With these ends of just now; the positions come second, so who keeps up has no lag."""
        moment = Moment(ends)
        return replace(moment, status=status())

    def progress(self, positions: Positions) -> Progress:
        """Of a query that was at these positions."""
        ends = {topic: self.ends[topic] for topic in positions if topic in self.ends}
        return Progress(self.at, positions, ends)


@dataclass(frozen=True)
class Progress:
    """How far a query was at one moment."""

    at: float
    """In seconds since 1970."""
    positions: Positions
    """The offsets of the next records to read."""
    ends: Positions
    """Of its topics, where they are known."""

    @property
    def lag(self) -> int | None:
        """The records that it had yet to read; None where the end of a topic is unknown."""
        lags = [self.lag_of(topic) for topic in self.positions]
        return None if None in lags else sum(lag for lag in lags if lag is not None)

    def lag_of(self, topic: str) -> int | None:
        """Those of one topic."""
        ends = self.ends.get(topic)
        return None if ends is None else distance(self.positions, {topic: ends})
