"""What PRINT makes of bytes."""

from __future__ import annotations

import struct

import pytest

from streamsql.kafka.client import Record
from streamsql.statements.print_topic import Formats


def record(key: bytes | None, value: bytes | None, timestamp: int | None = 0) -> Record:
    return Record("t", 3, 0, timestamp, key, value)


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (b"plain text", "KAFKA_STRING", "plain text"),
        (b"", "KAFKA_STRING", ""),
        ("zwölf".encode(), "KAFKA_STRING", "zwölf"),
        (b'{"a": 1}', "JSON or KAFKA_STRING", '{"a": 1}'),
        (b"[1,\n 2]", "JSON or KAFKA_STRING", "[1,  2]"),
        (b"{broken", "KAFKA_STRING", "{broken"),
        (struct.pack(">i", 7), "KAFKA_INT", "7"),
        (struct.pack(">q", -7), "KAFKA_BIGINT or KAFKA_DOUBLE", "-7"),
        (
            b"key" + struct.pack(">q", 1_600_000_000_000),
            "TIME_WINDOWED(KAFKA_STRING)",
            "[key@1600000000000/-]",
        ),
        (b"\xff\x00\x01", "KAFKA_BYTES", "0xff0001"),
        (None, "¯\\_(ツ)_/¯ - no data processed", "<null>"),
    ],
)
def test_guesses(data: bytes | None, name: str, text: str) -> None:
    formats = Formats.guess(record(None, data))
    assert formats.value.name == name
    assert formats.line(record(None, data)) == (
        f"rowtime: 1970/01/01 00:00:00.000 Z, key: <null>, value: {text}, partition: 3"
    )


def test_a_guess_is_revised() -> None:
    formats = Formats.guess(record(None, b'{"a": 1}'))
    assert "value: text" in formats.line(record(b"k", b"text"))
    assert formats.value.name == "KAFKA_STRING"
    assert "key: k" in formats.line(record(b"k", None))


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (1_577_836_799_001, "2019/12/31 23:59:59.001 Z"),
        (-1, "1969/12/31 23:59:59.999 Z"),
        (None, "N/A"),
        (10**18, str(10**18)),
    ],
)
def test_times(timestamp: int | None, text: str) -> None:
    formats = Formats.guess(record(b"k", b"v"))
    assert formats.line(record(b"k", b"v", timestamp)).startswith(f"rowtime: {text}, key: k,")
