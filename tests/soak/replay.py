"""Lives through a history with an engine that may be killed, and reads what its tables hold."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from awaiting import await_until
from soak.history import AT_THE_END, TABLES, TOPICS, Event, History, Table, expected

from streamsql.errors import ExternalError
from streamsql.kafka.client import KafkaClient

WINDOW_BYTES = 16
LOOK_SECONDS = 0.2
Name = Callable[[str], str]


class TableReader:
    """The newest row of each key of a table's topic, read on from where it last was."""

    def __init__(self, kafka: KafkaClient, topic: str, *, windowed: bool = False) -> None:
        self._kafka, self._topic, self._windowed = kafka, topic, windowed
        self._start: dict[int, int] = {}
        self.rows: Table = {}

    def read(self) -> Table:
        ends = self._kafka.end_offsets(self._topic)
        if ends == self._start:
            return self.rows
        for record in self._kafka.consume(self._topic, start=self._start, until=ends):
            assert record.key is not None
            key = self._key(record.key)
            if record.value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = json.loads(record.value)
        self._start = ends
        return self.rows

    def _key(self, key: bytes) -> Any:
        if not self._windowed:
            return key.decode()
        end, start = struct.unpack(">qq", key[-WINDOW_BYTES:])
        return key[:-WINDOW_BYTES].decode(), start, end


class Replay:
    """Writes a history into its topics; `name` gives a topic's or table's real name."""

    def __init__(self, kafka: KafkaClient, history: History, name: Name, patience: float) -> None:
        self._kafka = kafka
        self._history = history
        self._name = name
        self._patience = patience

    def chapter(self, live: dict[str, TableReader], changes: int, happenings: int) -> None:
        """Write a chapter; returns when the tables tell all of it.

        A stream meets the rows that a table has at the time: so what happens is written when the
        changes before it are known, and the next chapter when all has been seen.
        """
        self.write(self._history.tables(changes))
        chapter, by_region = self._history.chapter, live["visitsbyregion"]

        def known() -> bool:
            self.write([self._history.visit()])
            return chapter in by_region.read()

        self._await(known, f"{chapter} to be known")
        self.write(self._history.streams(happenings))
        self.await_tables({name: table for name, table in live.items() if name not in AT_THE_END})

    def close(self, live: dict[str, TableReader]) -> None:
        """Let enough time pass that no row waits for another."""
        self.write(self._history.closing())
        self.await_tables(live)

    def write(self, events: Iterable[Event]) -> None:
        """Each in its turn, until it is acknowledged: some may be there twice."""
        for event in events:
            self._await(partial(self._written, event), f"{event} to be written")

    def _written(self, event: Event) -> bool:
        return self._kafka.produce(self._name(event.topic), [event.record()]) == 1

    def events(self) -> dict[str, list[Event]]:
        """What is in the topics."""
        return {topic: list(self._events(topic)) for topic in TOPICS}

    def _events(self, topic: str) -> Iterable[Event]:
        name = self._name(topic)
        for record in self._kafka.consume(name, until=self._kafka.end_offsets(name)):
            assert record.key is not None and record.timestamp is not None
            row = None if record.value is None else json.loads(record.value)
            yield Event(topic, record.key.decode(), row, record.timestamp)

    def readers(self, name: Name) -> dict[str, TableReader]:
        """Of all the tables of the queries."""
        return {
            table: TableReader(self._kafka, name(table), windowed=table == "bursts")
            for table in TABLES
        }

    def await_tables(self, tables: dict[str, TableReader]) -> None:
        """Until each holds what the events of the topics make of it."""
        wanted: dict[str, Table] = {}

        def equal() -> bool:
            if not wanted:
                wanted.update(expected(self.events()))
            return all(reader.read() == wanted[name] for name, reader in tables.items())

        try:
            self._await(equal, "the tables to be right")
        except AssertionError:
            if wanted:
                for name, reader in tables.items():
                    _explain(name, reader.rows, wanted[name])
            raise

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        trouble: ExternalError | None = None

        def held() -> bool:
            nonlocal trouble
            try:
                return condition()
            except ExternalError as error:
                # The broker may be dead for a while.
                trouble = error
                return False

        try:
            await_until(held, what, self._patience, every=LOOK_SECONDS)
        except AssertionError as error:
            if trouble is not None:
                error.add_note(f"last of Kafka: {trouble} {trouble.detail}")
            raise


def _explain(name: str, found: Table, wanted: Table) -> None:
    keys = sorted(found.keys() | wanted.keys())
    wrong = {k: (found.get(k), wanted.get(k)) for k in keys if found.get(k) != wanted.get(k)}
    assert not wrong, f"{name}: {len(wrong)} keys are wrong, found and wanted: {wrong}"
