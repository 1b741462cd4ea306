"""Entries of the processing log: failures, in the form of the JVM's ProcessingLog, and replays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamsql.config import PROCESSING_LOG_TOPIC
from streamsql.kafka.client import KafkaClient

_LOGGER = "processing."
_REPLAY = "Replay"
_REPLAYED = 6
"""Message type of a replay entry; the JVM's types are below."""
_TEXT = re.compile(r"""(?<!\w)(['"`]).*?\1(?!\w)""")
_NUMBER = re.compile(r"(?<![\w.$])[-+]?\d+(\.\d+)?([eE][-+]?\d+)?(?![\w.]*\w)")


@dataclass(frozen=True, order=True)
class Place:
    """Position of a record."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offset {self.offset}"


@dataclass(frozen=True)
class Failure:
    """Failure of a query for a record."""

    query_id: str
    step: str
    """The operator, by its name in the log: Source, Project, Sink .."""
    kind: str
    """deserializationError, recordProcessingError .."""
    text: str
    time: int
    """In ms."""
    place: Place | None
    """None if the record is unknown."""

    @property
    def reason(self) -> str:
        """The text without what differs from record to record: its texts and numbers.

        >>> Failure("Q", "Source", "", "$.A: expected INT, found text 'x'", 0, None).reason
        "$.A: expected INT, found text '..'"
        """
        return _NUMBER.sub("#", _TEXT.sub(r"\1..\1", self.text))


@dataclass(frozen=True)
class Replayed:
    """A record that was replayed."""

    query_id: str
    place: Place

    def entry(self, time: int) -> bytes:
        place = self.place
        entry = {
            "logger": f"{_LOGGER}{self.query_id}.{_REPLAY}",
            "level": "INFO",
            "time": time,
            "message": {"type": _REPLAYED},
            "queryId": self.query_id,
            "topic": place.topic,
            "partition": place.partition,
            "offset": place.offset,
        }
        return json.dumps(entry).encode()


def entries(
    client: KafkaClient, topic: str = PROCESSING_LOG_TOPIC, start: int = 0
) -> Iterator[Failure | Replayed]:
    """The current entries of the log, in order; for a topic of one partition, from an offset on."""
    if client.partitions(topic) is None:
        return
    ends = client.end_offsets(topic)
    for record in client.consume(topic, start={0: start} if start else None, until=ends):
        found = entry_of(record.value)
        if found is not None:
            yield found


def failures(client: KafkaClient) -> Iterator[Failure]:
    return (entry for entry in entries(client) if isinstance(entry, Failure))


def entry_of(value: bytes | None) -> Failure | Replayed | None:
    """The content of an entry; None for foreign records."""
    try:
        entry: dict[str, Any] = json.loads(value or b"null")
        query_id, logger = entry["queryId"], entry["logger"]
        if entry["message"]["type"] == _REPLAYED:
            place = _place(entry)
            return None if place is None else Replayed(query_id, place)
        ((kind, details),) = ((k, v) for k, v in entry["message"].items() if isinstance(v, dict))
        step = logger.removeprefix(f"{_LOGGER}{query_id}.")
        text = details.get("errorMessage") or "no reason given"
        return Failure(query_id, step, kind, text, entry["time"], _place(entry))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _place(entry: dict[str, Any]) -> Place | None:
    topic, partition, offset = entry.get("topic"), entry.get("partition"), entry.get("offset")
    if topic is None or partition is None or offset is None:
        return None
    return Place(topic, partition, offset)
