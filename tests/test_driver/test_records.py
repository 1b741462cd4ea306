"""Records of tests to bytes and back, by format."""

from __future__ import annotations

import base64
import struct
from decimal import Decimal
from typing import Any

import pytest

from streamsql.catalog import Source
from streamsql.errors import ConfigError
from streamsql.kafka.records import NewRecord, Record
from streamsql.schema import Column, FormatSpec, KeyWindow, Kind, Namespace, Schema, Topic
from streamsql.schema import WindowType as W
from streamsql.test_driver import records
from streamsql.test_driver.json_values import from_text
from streamsql.test_driver.registries import CaseRegistry
from streamsql.types import BIGINT, BYTES, DOUBLE, INT, STRING, SQLType

BASE64 = base64.b64encode(b"\x00\xff").decode()


REGISTRY = CaseRegistry(())


def encode(record: dict[str, Any], of: Source | None) -> NewRecord:
    return records.encode(record, of, REGISTRY)


def decode(record: Record, of: Source, topic: str) -> Any:
    return records.decode(record, of, topic, REGISTRY)


def source(
    key: SQLType = STRING,
    value: SQLType = STRING,
    key_format: str = "KAFKA",
    value_format: str = "JSON",
    window: KeyWindow | None = None,
) -> Source:
    schema = Schema((Column("K", key, Namespace.KEY), Column("V", value)))
    topic = Topic("t", FormatSpec(key_format), FormatSpec(value_format), window)
    return Source("S", Kind.STREAM, schema, topic)


@pytest.mark.parametrize(
    ("of", "key", "data"),
    [
        (source(STRING), "ä", "ä".encode()),
        (source(INT), -1, b"\xff\xff\xff\xff"),
        (source(BIGINT), 2, struct.pack(">q", 2)),
        (source(DOUBLE), Decimal("1.5"), struct.pack(">d", 1.5)),
        (source(DOUBLE), "-Infinity", struct.pack(">d", float("-inf"))),
        (source(BYTES), BASE64, b"\x00\xff"),
        (source(key_format="JSON"), {"A": Decimal("1.50"), "B": None}, b'{"A": 1.50, "B": null}'),
        (source(key_format="JSON"), "x", b'"x"'),
        (source(key_format="DELIMITED"), 'a,"b"', b'a,"b"'),
        (source(key_format="NONE"), None, None),
        (source(STRING), None, None),
    ],
)
def test_a_key_there_and_back(of: Source, key: Any, data: bytes | None) -> None:
    assert encode({"topic": "t", "key": key}, of).key == data
    assert decode(Record("t", 0, 0, 1, data, None), of, "t")["key"] == key


@pytest.mark.parametrize(
    ("window", "given", "tail"),
    [
        (KeyWindow(W.TUMBLING, 10), {"start": 5, "end": 15, "type": "time"}, (5,)),
        (KeyWindow(W.CUMULATING), {"start": 5, "end": 9, "type": "session"}, (9, 5)),
        (KeyWindow(W.SESSION), {"start": 5, "end": 9, "type": "session"}, (9, 5)),
    ],
)
def test_a_windowed_key(window: KeyWindow, given: dict[str, Any], tail: tuple[int, ...]) -> None:
    of = source(window=window)
    data = encode({"topic": "t", "key": "k", "window": given}, of).key
    assert data == b"k" + b"".join(struct.pack(">q", part) for part in tail)
    found = decode(Record("t", 0, 0, 1, data, None), of, "t")
    assert (found["key"], found["window"]) == ("k", given)


def test_headers_and_time() -> None:
    headers = [{"KEY": "a", "VALUE": BASE64}, {"KEY": "a", "VALUE": None}]
    record = encode({"topic": "t", "value": 1, "headers": headers}, source())
    assert (record.timestamp, record.headers) == (0, [("a", b"\x00\xff"), ("a", None)])
    back = Record("t", 0, 0, 4, None, record.value, tuple(record.headers))
    found = decode(back, source(), "t")
    assert (found["timestamp"], found["headers"], found["value"]) == (4, headers, 1)


def test_a_topic_without_a_source_is_written_as_json() -> None:
    record = encode({"topic": "t", "key": "k", "value": {"a": 1}}, None)
    assert (record.key, record.value) == (b"k", b'{"a": 1}')


def test_numbers_keep_their_digits() -> None:
    data = encode({"topic": "t", "value": from_text('{"D": 1.50, "N": 1e-7}')}, source()).value
    assert data == b'{"D": 1.50, "N": 1E-7}'


def test_bytes_that_are_no_json_are_shown_as_text() -> None:
    assert decode(Record("t", 0, 0, 1, None, b"{\xff"), source(), "t")["value"] == "{\\xff"


def test_what_does_not_fit_is_reported() -> None:
    with pytest.raises(ConfigError, match="cannot write the input record"):
        encode({"topic": "t", "key": "no number"}, source(INT))
