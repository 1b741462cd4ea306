"""What Spark's JVM is asked every second, of all queries at once: io.streamsql's Pulse.

Every lag that is shown or decided by comes from one moment: the end of a topic a second after the
position of its reader would show a lag that never was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from streamsql.executor.queries.checkpoint import merge
from streamsql.kafka.positions import Positions, distance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Pulse:
    """The queries, push queries included, at one moment."""

    running: set[str] = field(default_factory=set)
    asleep: set[str] = field(default_factory=set)
    """Those that wait for their topics to get records."""
    working: dict[str, float] = field(default_factory=dict)
    """For how many seconds the tasks of each have had rows of its other tasks without a break: what
    it has read is not yet what it has processed."""
    read: dict[str, Positions] = field(default_factory=dict)
    """How far each has read in its present batch, of the partitions it has read from."""
    done: dict[str, Positions] = field(default_factory=dict)
    """Where the last finished batch of each ended; nothing before the first."""
    gaps: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    """Between which offsets the partitions of topics end with what is no record, as the end of a
    transaction."""
    answers: bool = True
    """False: there is no JVM."""

    def reached(self, known: Positions, query_id: str, *, real_time: bool = True) -> Positions:
        """How far a query has come, which had come as far as `known` before.

        In real time a record counts when it is read, in micro-batches when its batch has finished.
        A gap at the end of a partition holds nothing to read: who reaches it has passed it.
        """
        done = self.done.get(query_id, {})
        read = self.read.get(query_id, {}) if real_time else {}
        return {
            topic: self._past_gaps(
                topic, known.get(topic, {}), done.get(topic, {}), read.get(topic, {})
            )
            for topic in known | done | read
        }

    def _past_gaps(self, topic: str, *reached: dict[int, int]) -> dict[int, int]:
        partitions = {p for offsets in reached for p in offsets}
        furthest = {p: max(offsets.get(p, 0) for offsets in reached) for p in partitions}
        gaps = self.gaps.get(topic, {})
        for partition, offset in furthest.items():
            begin, end = gaps.get(partition, (offset, offset))
            if begin <= offset < end:
                furthest[partition] = end
        return furthest


@dataclass(frozen=True)
class Moment:
    """Where topics ended and, some milliseconds later, how far queries had read."""

    ends: Positions = field(default_factory=dict)
    """Without the topics that could not be asked."""
    pulse: Pulse = field(default_factory=Pulse)
    at: float = field(default_factory=time.time)
    """Between the two, in seconds since 1970."""
    taken: float = field(default_factory=time.monotonic)
    """The same by the monotonic clock."""

    @staticmethod
    def now(ends: Positions, pulse: Callable[[], Pulse]) -> Moment:
        """With these ends of just now; the positions come second, so who keeps up has no lag."""
        moment = Moment(ends)
        return replace(moment, pulse=pulse())

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


def pulse_of(spark: SparkSession | None) -> Pulse:
    """Theirs now; nothing where there is no JVM."""
    if spark is not None:
        from streamsql.executor.spark.failures import JVM_FAILURES

        java = cast(Any, spark)
        with suppress(*JVM_FAILURES):
            return parse(str(java._jvm.io.streamsql.queries.Pulse.of(java._jsparkSession)))
    return Pulse(answers=False)


def forget_read(spark: SparkSession | None, query_id: str) -> None:
    """A query has stopped: what it had read in its last batch counts no more, nor in which steps
    it was to read."""
    if spark is None:
        return
    from streamsql.executor.spark.failures import JVM_FAILURES

    # A JVM that has died or been stopped just now has forgotten the query already.
    with suppress(*JVM_FAILURES):
        package = cast(Any, spark)._jvm.io.streamsql
        package.monitoring.ReadOffsets.forget(query_id)
        package.source.ReadUntil.atOnce(query_id)


def parse(text: str) -> Pulse:
    """From the JVM's answer."""
    pulse = Pulse()
    for line in text.splitlines():
        match line.split("\t"):
            case "read", query_id, topic, partition, offset:
                read = pulse.read.setdefault(query_id, {})
                read.setdefault(topic, {})[int(partition)] = int(offset)
            case "done", query_id, offsets if ends := json.loads(offsets):
                merge(pulse.done.setdefault(query_id, {}), ends)
            case "gap", topic, partition, begin, end:
                pulse.gaps.setdefault(topic, {})[int(partition)] = int(begin), int(end)
            case "working", query_id, milliseconds:
                pulse.working[query_id] = int(milliseconds) / 1000
            case "running", query_id:
                pulse.running.add(query_id)
            case "asleep", query_id:
                pulse.asleep.add(query_id)
    return pulse
