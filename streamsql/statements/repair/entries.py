"""Entries of the processing log: failures, as the JVM's ProcessingLog writes them, and replays."""

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
"""The type of an entry's message: the JVM's are below."""
_TEXT = re.compile(r"""(?<!\w)(['"`]).*?\1(?!\w)""")
_NUMBER = re.compile(r"(?<![\w.$])[-+]?\d+(\.\d+)?([eE][-+]?\d+)?(?![\w.]*\w)")


@dataclass(frozen=True, order=True)
class Place:
    """Where a record stands."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offset {self.offset}"


@dataclass(frozen=True)
class Failure:
    """What a query could not do with a record."""

    query_id: str
    step: str
    """Which of its operators, as the log calls them: Source, Project, Sink .."""
    kind: str
    """deserializationError, recordProcessingError .."""
    text: str
    time: int
    """When, in ms."""
    place: Place | None
    """None where the record is not known."""

    @property
    def reason(self) -> str:
        """The text without what differs from record to record: its texts and numbers.

        >>> Failure("Q", "Source", "", "$.A: expected INT, found text 'x'", 0, None).reason
        "$.A: expected INT, found text '..'"
        """
        return _NUMBER.sub("#", _TEXT.sub(r"\1..\1", self.text))


@dataclass(frozen=True)
class Replayed:
    """That a record was put through a query again, and is done with."""

    query_id: str
    place: Place

    def entry(self, time: int) -> bytes:
        """What says so in the log."""
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
    """All that the log has now, in its order; of a topic of one partition, from an offset on."""
    if client.partitions(topic) is None:
        return
    ends = client.end_offsets(topic)
    for record in client.consume(topic, start={0: start} if start else None, until=ends):
        found = entry_of(record.value)
        if found is not None:
            yield found


def failures(client: KafkaClient) -> Iterator[Failure]:
    """What has failed, all that the log has now."""
    return (entry for entry in entries(client) if isinstance(entry, Failure))


def entry_of(value: bytes | None) -> Failure | Replayed | None:
    """What an entry says; None for what is not one of ours."""
    try:
        entry: dict[str, Any] = json.loads(value or b"null")
        query_id, logger = entry["queryId"], entry["logger"]
        if entry["message"]["type"] == _REPLAYED:
            place = _place(entry)
            return None if place is None else Replayed(query_id, place)
        ((kind, details),) = ((k, v) for k, v in entry["message"].items() if isinstance(v, dict))
        step = logger.removeprefix(f"{_LOGGER}{query_id}.")
        text = details.get("errorMessage") or "no reason is given"
        return Failure(query_id, step, kind, text, entry["time"], _place(entry))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _place(entry: dict[str, Any]) -> Place | None:
    topic, partition, offset = entry.get("topic"), entry.get("partition"), entry.get("offset")
    if topic is None or partition is None or offset is None:
        return None
    return Place(topic, partition, offset)
