"""PRINT: shows a topic's records as lines, with formats detected from their bytes."""

from __future__ import annotations

import functools
import json
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from streamsql.errors import CatalogError, StreamSQLError, did_you_mean
from streamsql.formats import FORMATS
from streamsql.formats.registered import SchemaText
from streamsql.kafka.client import KafkaClient, Record
from streamsql.ksqldb import says
from streamsql.nodes import Print
from streamsql.registry.framing import framed_to_json
from streamsql.results import LineStream

NULL = "<null>"
LIMIT_REACHED = "Topic printing ceased"


class Cancellation:
    """Ends a stream of lines from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()


SchemaOf = Callable[[int], SchemaText | None]


def print_records(client: KafkaClient, statement: Print, schema_of: SchemaOf) -> LineStream:
    """The lines of PRINT; CatalogError for an unknown topic."""
    topic = statement.topic
    if client.partitions(topic) is None:
        known = client.topics()
        # Topic names are case-sensitive, and unquoted names are folded.
        raise CatalogError(
            f"Could not find topic '{topic}'. Topic names are case-sensitive.",
            hint=did_you_mean(topic, known) or "SHOW TOPICS lists the topics.",
            span=statement.span,
            ksqldb=says("printed-topic", topic=topic),
        )
    cancellation = Cancellation()
    stream = LineStream(iter(()), cancellation)
    # Read before the first poll, so that PRINT without FROM BEGINNING shows what follows the
    # statement.
    records = client.consume(
        topic,
        from_beginning=statement.from_beginning,
        stop=lambda: cancellation.cancelled,
    )
    stream.lines = _lines(records, statement, stream, schema_of)
    return stream


def _lines(
    records: Iterator[Record], statement: Print, stream: LineStream, schema_of: SchemaOf
) -> Iterator[str]:
    formats: Formats | None = None
    shown = 0
    if statement.limit == 0:
        return
    for number, record in enumerate(records):
        if number % (statement.interval or 1) != 0:
            continue
        if formats is None:
            formats = Formats.guess(record, schema_of)
            yield f"Key format: {formats.key.name}"
            yield f"Value format: {formats.value.name}"
        yield formats.line(record)
        shown += 1
        if statement.limit is not None and shown >= statement.limit:
            stream.final_message = LIMIT_REACHED
            return


@dataclass(frozen=True)
class Shown:
    """Displays bytes of a format; `text` returns None for other bytes."""

    name: str
    text: Callable[[bytes], str | None]


@dataclass
class Formats:
    """Formats of key and value, detected from the first record and revised on failure."""

    key: Shown
    value: Shown
    guesses: Sequence[Shown]

    @classmethod
    def guess(cls, record: Record, schema_of: SchemaOf = lambda id: None) -> Formats:
        guesses = (*_framed(schema_of), *_GUESSES)
        return cls(_guess(record.key, guesses), _guess(record.value, guesses), guesses)

    def line(self, record: Record) -> str:
        """A record in ksqlDB's form."""
        key, self.key = _show(record.key, self.key, self.guesses)
        value, self.value = _show(record.value, self.value, self.guesses)
        return (
            f"rowtime: {_time(record.timestamp)}, key: {key}, value: {value}, "
            f"partition: {record.partition}"
        )


def _show(data: bytes | None, known: Shown, guesses: Sequence[Shown]) -> tuple[str, Shown]:
    if data is None:
        return NULL, known
    text = known.text(data)
    if text is not None and known is not _NO_DATA:
        return text, known
    found = _guess(data, guesses)
    return found.text(data) or "", found


def _guess(data: bytes | None, guesses: Sequence[Shown]) -> Shown:
    if data is None:
        return _NO_DATA
    return next(shown for shown in guesses if shown.text(data) is not None)


def _framed(schema_of: SchemaOf) -> Sequence[Shown]:
    """Formats whose records begin with a schema id."""

    @functools.lru_cache(maxsize=64)
    def schema(id: int) -> SchemaText | None:
        try:
            return schema_of(id) if id > 0 else None
        except StreamSQLError:
            return None

    def text(data: bytes, schema_type: str) -> str | None:
        def of_type(id: int) -> SchemaText | None:
            found = schema(id)
            return found if found is not None and found.type == schema_type else None

        try:
            value = framed_to_json(data, of_type)
        except (ValueError, StreamSQLError):
            return None
        return json.dumps(value, ensure_ascii=False, default=float)

    named = ((f.name, f.schema_type) for f in FORMATS.values() if f.schema_type is not None)
    return [Shown(name, partial(text, schema_type=kind)) for name, kind in named]


def _json(data: bytes) -> str | None:
    text = _printable(data)
    if text is None or text.strip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except ValueError:
        return None
    return text.replace("\r", "").replace("\n", " ")


def _windowed(data: bytes) -> str | None:
    """A text key followed by eight bytes, the start of a window after the year 2000."""
    if len(data) <= 8:
        return None
    (start,) = struct.unpack(">q", data[-8:])
    text = _printable(data[:-8])
    if text is None or not 946_684_800_000 <= start < 4_102_444_800_000:
        return None
    return f"[{text}@{start}/-]"


def _string(data: bytes) -> str | None:
    return _printable(data)


def _number(size: int, layout: str) -> Callable[[bytes], str | None]:
    def text(data: bytes) -> str | None:
        return str(struct.unpack(layout, data)[0]) if len(data) == size else None

    return text


def _hexadecimal(data: bytes) -> str | None:
    return "0x" + data.hex()


def _printable(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\t\r\n" for c in text) else None


_NO_DATA = Shown("¯\\_(ツ)_/¯ - no data processed", lambda data: NULL)
_GUESSES = (
    Shown("JSON or KAFKA_STRING", _json),
    Shown("KAFKA_STRING", _string),
    Shown("TIME_WINDOWED(KAFKA_STRING)", _windowed),
    Shown("KAFKA_INT", _number(4, ">i")),
    Shown("KAFKA_BIGINT or KAFKA_DOUBLE", _number(8, ">q")),
    Shown("KAFKA_BYTES", _hexadecimal),
)


def _time(timestamp: int | None) -> str:
    if timestamp is None:
        return "N/A"
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp)
    return f"{moment:%Y/%m/%d %H:%M:%S}.{timestamp % 1000:03d} Z"
