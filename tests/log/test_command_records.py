"""Which records of a command topic are taken for those of a server: without Kafka."""

from __future__ import annotations

import json
import logging

import pytest

from streamsql.errors import ConfigError
from streamsql.log.command_records import LEADER, STATEMENT, CommandRecords, Leader
from streamsql.log.entries import Entry, encode
from streamsql.log.signatures import SEAL, new_seal

TOPIC = "_streamsql_command_x"
ENTRY = Entry(1, "DEFINE x = '1';", version="0.1.0")
SAID = b'{"url": "http://a:8088", "version": "0.1.0"}'


def read(records: CommandRecords, key: bytes | None, value: bytes | None) -> Entry | Leader | None:
    return records.read(key, value, (), 7)


def test_a_log_without_a_seal_is_read_as_it_is() -> None:
    records = CommandRecords(TOPIC)
    assert read(records, STATEMENT, encode(ENTRY)) == ENTRY
    assert read(records, LEADER, SAID) == Leader("http://a:8088", "0.1.0")
    assert not records.signatures.sealed and records.signatures.headers(b"k", b"v") == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (STATEMENT, b"hello"),
        (STATEMENT, None),
        (STATEMENT, b"[1]"),
        (STATEMENT, b'{"sequence": 1, "novelty": true}'),
        (b"order-1", b'{"id": 1}'),
        (None, b"hello"),
        (LEADER, b"hello"),
        (LEADER, b'{"url": "file:///etc/passwd"}'),
        (LEADER, b'{"url": 1}'),
        (SEAL, b"hello"),
        (SEAL, b'{"key": 1}'),
        (SEAL, b'{"key": "no figures"}'),
    ],
)
def test_what_no_server_has_written_is_ignored_and_logged(
    key: bytes | None, value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    records = CommandRecords(TOPIC)
    with caplog.at_level(logging.WARNING, "streamsql.service"):
        assert read(records, key, value) is None
    assert caplog.messages == [
        f"ignored record 7 of the command topic {TOPIC}: "
        "it was not written by a server of the service"
    ]
    assert read(records, STATEMENT, encode(ENTRY)) == ENTRY


@pytest.mark.parametrize("key", [STATEMENT, b"statements"])
def test_what_a_later_version_has_written_is_not_ignored(key: bytes) -> None:
    with pytest.raises(ConfigError, match=r"written by streamsql 9\.1\.0"):
        read(CommandRecords(TOPIC), key, b'{"version": "9.1.0", "novelty": true}')


def sealed(topic: str = TOPIC, seal: bytes | None = None) -> CommandRecords:
    records = CommandRecords(topic)
    assert read(records, SEAL, seal or new_seal()) is None
    assert records.signatures.sealed
    return records


def test_a_sealed_log_holds_signed_records() -> None:
    seal = new_seal()
    writer, reader = sealed(seal=seal), sealed(seal=seal)
    for key, value, found in (
        (STATEMENT, encode(ENTRY), ENTRY),
        (LEADER, SAID, Leader("http://a:8088", "0.1.0")),
    ):
        (signature,) = writer.signatures.headers(key, value).values()
        assert isinstance(signature, bytes)
        signed = [("trace", b"1"), ("streamsql-signature", signature)]
        assert reader.read(key, value, signed, 7) == found
        for forged in (
            [],
            [("streamsql-signature", b"")],
            [("streamsql-signature", signature[:-1])],
        ):
            assert reader.read(key, value, forged, 7) is None
        # Of another key, value, topic or seal.
        assert reader.read(key + b"x", value, signed, 7) is None
        assert reader.read(key, value + b" ", signed, 7) is None
        assert sealed("_streamsql_command_y", seal).read(key, value, signed, 7) is None
        assert sealed().read(key, value, signed, 7) is None


def test_a_strangers_seal_breaks_none() -> None:
    records = sealed()
    before = records.signatures.headers(STATEMENT, encode(ENTRY))
    assert read(records, SEAL, new_seal()) is None
    assert records.signatures.headers(STATEMENT, encode(ENTRY)) == before


def test_a_stranger_cannot_say_that_a_later_version_wrote_into_a_sealed_log() -> None:
    assert read(sealed(), STATEMENT, b'{"version": "9.1.0", "novelty": true}') is None
    records = sealed()
    later = b'{"version": "9.1.0", "novelty": true}'
    (signature,) = records.signatures.headers(STATEMENT, later).values()
    with pytest.raises(ConfigError, match=r"written by streamsql 9\.1\.0"):
        records.read(STATEMENT, later, [("streamsql-signature", signature)], 7)  # type: ignore[list-item]


def test_a_seal_has_a_key_of_its_own_and_is_refused_by_earlier_versions() -> None:
    first, second = (json.loads(new_seal()) for _ in range(2))
    assert first["key"] != second["key"] and len(first["key"]) == 64
    assert first["version"], "what names its version is not passed over"
