"""The registry's `_schemas` topic: read at the start, appended on changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamsql.config import REGISTRY_TOPIC
from streamsql.kafka.records import NewRecord
from streamsql.registry.embedded.store import Entry

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient


class Journal:
    """One compacted topic of one partition, in the form of Confluent's registry."""

    def __init__(self, client: KafkaClient) -> None:
        """Makes the topic if it is not there."""
        self._client = client
        client.create_topic(REGISTRY_TOPIC, 1, -1, {"cleanup.policy": "compact"}, exists_ok=True)

    def read(self) -> Iterator[Entry]:
        """All entries there are now, the oldest first."""
        end = self._client.end_offsets(REGISTRY_TOPIC).get(0, 0)
        begin = self._client.begin_offsets(REGISTRY_TOPIC).get(0, 0)
        if end <= begin:
            return
        for record in self._client.consume(REGISTRY_TOPIC, from_beginning=True, stop=lambda: False):
            if record.key is not None:
                value = None if record.value is None else json.loads(record.value)
                yield json.loads(record.key), value
            if record.offset >= end - 1:
                return

    def write(self, entries: list[Entry]) -> None:
        """Returns when Kafka has the entries for good."""
        records = [
            NewRecord(_bytes(key), None if value is None else _bytes(value))
            for key, value in entries
        ]
        self._client.produce(REGISTRY_TOPIC, records)


def _bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
