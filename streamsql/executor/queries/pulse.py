"""What Spark's JVM is asked every second, of all queries at once: io.streamsql's Pulse."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsql.executor.queries.checkpoint import Positions


@dataclass(frozen=True)
class Pulse:
    """The queries, push queries included, at one moment."""

    running: set[str] = field(default_factory=set)
    asleep: set[str] = field(default_factory=set)
    """Those that wait for their topics to get records."""
    read: dict[str, Positions] = field(default_factory=dict)
    """How far each has read in its present batch, of the partitions it has read from."""
    gaps: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    """Between which offsets the partitions of topics end with what is no record, as the end of a
    transaction."""
    answers: bool = True
    """False: there is no JVM."""

    def reached(self, known: Positions, query_id: str) -> Positions:
        """How far a live query has come, which had come as far as `known` before.

        Behind what it has read lies what nobody reads: past it there is nothing left to do.
        """
        read = self.read.get(query_id, {})
        return {
            topic: self._past_gaps(topic, known.get(topic, {}), read.get(topic, {}))
            for topic in known | read
        }

    def _past_gaps(self, topic: str, known: dict[int, int], read: dict[int, int]) -> dict[int, int]:
        furthest = {p: max(known.get(p, 0), read.get(p, 0)) for p in known | read}
        gaps = self.gaps.get(topic, {})
        for partition, offset in furthest.items():
            begin, end = gaps.get(partition, (offset, offset))
            if begin <= offset < end:
                furthest[partition] = end
        return furthest


def parse(text: str) -> Pulse:
    """From the JVM's answer."""
    pulse = Pulse()
    for line in text.splitlines():
        match line.split("\t"):
            case "read", query_id, topic, partition, offset:
                read = pulse.read.setdefault(query_id, {})
                read.setdefault(topic, {})[int(partition)] = int(offset)
            case "gap", topic, partition, begin, end:
                pulse.gaps.setdefault(topic, {})[int(partition)] = int(begin), int(end)
            case "running", query_id:
                pulse.running.add(query_id)
            case "asleep", query_id:
                pulse.asleep.add(query_id)
    return pulse
