"""Framing: bytes to messages, and whatever is none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsql.postgres.wire import answers
from streamsql.postgres.wire.messages import (
    Bind,
    Cancel,
    Close,
    CopyFail,
    Describe,
    Encrypt,
    Execute,
    First,
    Message,
    Parse,
    ProtocolError,
    Query,
    StartUp,
    Sync,
    body_length,
    first_message,
    format_of,
    message_of,
    sasl_first,
    startup_length,
)

MESSAGES: list[tuple[bytes, bytes, Message]] = [
    (b"Q", b"SELECT 1\0", Query("SELECT 1")),
    (b"P", b"s\0SELECT $1\0\0\1\0\0\0\x17", Parse("s", "SELECT $1", (23,))),
    (
        b"B",
        b"p\0s\0\0\1\0\1\0\2\0\0\0\2ab\xff\xff\xff\xff\0\1\0\1",
        Bind("p", "s", (1,), (b"ab", None), (1,)),
    ),
    (b"D", b"Ss\0", Describe("S", "s")),
    (b"E", b"p\0\0\0\0\7", Execute("p", 7)),
    (b"C", b"Pp\0", Close("P", "p")),
    (b"S", b"", Sync()),
    (b"f", b"no\0", CopyFail("no")),
]
FIRSTS: list[tuple[bytes, First]] = [
    (b"\0\3\0\0user\0ann\0\0", StartUp(0, {"user": "ann"})),
    (b"\0\3\0\2user\0ann\0_pq_.x\0y\0\0", StartUp(2, {"user": "ann", "_pq_.x": "y"})),
    (struct.pack("!I", 80877103), Encrypt(True)),
    (struct.pack("!I", 80877104), Encrypt(False)),
    (struct.pack("!III", 80877102, 5, 6), Cancel(5, 6)),
]


@pytest.mark.parametrize(("type", "body", "message"), MESSAGES)
def test_messages(type: bytes, body: bytes, message: Message) -> None:
    assert message_of(type, body) == message


@pytest.mark.parametrize(("body", "message"), FIRSTS)
def test_first_messages(body: bytes, message: First) -> None:
    assert first_message(body) == message


@pytest.mark.parametrize(
    ("type", "body"),
    [
        (b"?", b""),
        (b"Q", b"no end"),
        (b"Q", b"\xff\0"),
        (b"Q", b"x\0y"),
        (b"B", b"p\0s\0\0\1\0\2\0\0\0\0"),
        (b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe"),
        (b"B", b"\0\0\0\2\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        (b"D", b"Xs\0"),
        (b"P", b"\0\0\xff\xff"),
    ],
)
def test_what_is_no_message(type: bytes, body: bytes) -> None:
    with pytest.raises(ProtocolError):
        message_of(type, body)


@given(
    st.sampled_from([b"Q", b"P", b"B", b"D", b"E", b"C", b"f", b"p", b"?"]), st.binary(max_size=60)
)
def test_any_bytes_are_a_message_or_refused(type: bytes, body: bytes) -> None:
    try:
        message_of(type, body)
    except ProtocolError:
        pass


@given(st.binary(max_size=60))
def test_any_bytes_are_a_first_message_or_refused(body: bytes) -> None:
    for read in (first_message, sasl_first):
        try:
            read(body)
        except ProtocolError:
            pass


def test_lengths_are_bounded() -> None:
    assert startup_length(b"\0\0\0\x08") == 4
    for head in (b"GET ", b"POST", b"\x16\x03\x01\x02", b"\0\0\0\x07", b"\xff\xff\xff\xff"):
        with pytest.raises(ProtocolError):
            startup_length(head)
    assert body_length(b"Q\0\0\0\x08", 4) == 4
    for head in (b"Q\0\0\0\x03", b"Q\0\0\0\x09", b"Q\xff\xff\xff\xff"):
        with pytest.raises(ProtocolError):
            body_length(head, 4)


def test_formats() -> None:
    assert [format_of((), 3), format_of((1,), 3), format_of((0, 1), 1)] == [0, 1, 1]


def test_answers() -> None:
    assert answers.data_row([b"a", None]) == b"D\0\0\0\x0f\0\2\0\0\0\1a\xff\xff\xff\xff"
    assert answers.complete("SELECT 1") == b"C\0\0\0\x0dSELECT 1\0"
    assert answers.error({"S": "ERROR", "M": "a\0b"}) == b"E\0\0\0\x0fSERROR\0Ma\0\0"
    column = answers.ColumnForm("n", 23, 4)
    assert answers.row_description([column])[:9] == b"T\0\0\0\x1a\0\1n\0"
