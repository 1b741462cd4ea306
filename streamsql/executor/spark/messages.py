"""What the bridge in the JVM tells: io.streamsql.bridge.Message has the same types.

docs/design/bridge.md says how a message changes. This module needs no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from streamsql.kafka.positions import Positions, merge

VERSION = 3
"""Both sides have the same, or the bridge does not open."""


class ErrorCode(StrEnum):
    """What an error of the engine means: io.streamsql.errors.ErrorCode documents each."""

    MEMORY_LIMIT = "MEMORY_LIMIT"
    LOOKUP_UNAVAILABLE = "LOOKUP_UNAVAILABLE"
    SINK_UNAVAILABLE = "SINK_UNAVAILABLE"
    LAKE_MISMATCH = "LAKE_MISMATCH"
    SINK_MISMATCH = "SINK_MISMATCH"
    DATA_LOSS = "DATA_LOSS"
    TABLE_TRUNCATED = "TABLE_TRUNCATED"
    CONSTRAINT_VIOLATED = "CONSTRAINT_VIOLATED"
    RECORD_UNREADABLE = "RECORD_UNREADABLE"
    RECORD_REFUSED = "RECORD_REFUSED"
    MATCH_AMBIGUOUS = "MATCH_AMBIGUOUS"
    CHECKPOINT_MISMATCH = "CHECKPOINT_MISMATCH"


@dataclass(frozen=True)
class CodedError:
    """An error of the engine's part in the JVM."""

    code: ErrorCode
    message: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> CodedError:
        content = json.loads(text)
        return CodedError(ErrorCode(content["code"]), content["message"], content["parameters"])


@dataclass(frozen=True)
class Status:
    """All running queries, push queries included, at one moment."""

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
    held: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By the query of a view: the topic of the view that holds it back, and since when, in seconds
    since the Unix epoch."""
    answers: bool = True
    """False: there is no JVM."""

    @staticmethod
    def of(text: str) -> Status:
        content = json.loads(text)
        done: dict[str, Positions] = {}
        for query_id, sources in content["done"].items():
            for source in sources:
                if isinstance(source, dict):
                    merge(done.setdefault(query_id, {}), source)
        return Status(
            running=set(content["running"]),
            asleep=set(content["asleep"]),
            working={q: ms / 1000 for q, ms in content["working_millis"].items() if ms},
            read={q: _by_partition(read, int) for q, read in content["read"].items()},
            done=done,
            gaps=_by_partition(content["gaps"], tuple),
            held={q: (by["topic"], by["since"] / 1000) for q, by in content["held"].items()},
        )

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


def _by_partition(topics: Mapping[str, Mapping[str, Any]], kind: Any) -> Any:
    """JSON has no numbers as names."""
    return {
        topic: {int(partition): kind(value) for partition, value in partitions.items()}
        for topic, partitions in topics.items()
    }
