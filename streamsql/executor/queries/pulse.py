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


def parse(text: str) -> Pulse:
    """From the JVM's answer."""
    pulse = Pulse()
    for line in text.splitlines():
        what, query_id, *place = line.split("\t")
        if what == "read":
            topic, partition, offset = place
            read = pulse.read.setdefault(query_id, {})
            read.setdefault(topic, {})[int(partition)] = int(offset)
        else:
            (pulse.running if what == "running" else pulse.asleep).add(query_id)
    return pulse
