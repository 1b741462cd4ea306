"""Our reader and printer of .proto texts against protoc's: the texts of tests/cases/protoc, and
random ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from datadriven import CASES, read
from formats.proto_strategies import proto_texts
from formats.protoc import NAME, compiled, linked
from hypothesis import given
from hypothesis import strategies as st

from streamsql.errors import ConfigError
from streamsql.formats.proto_parser import parse_proto
from streamsql.formats.proto_printer import print_proto

FILES = sorted((CASES / "protoc").glob("*.proto"))
MADE = [
    block.expected
    for block in read(CASES / "formats" / "schemas.txt")
    if block.directive == "protobuf" and block.expected.startswith("syntax")
]


def check(text: str) -> None:
    """What protoc accepts is read as the same, and printed so that protoc reads it again."""
    answer = compiled(text)
    if answer is None:
        return
    *imported, expected = answer
    wanted = linked(expected, imported)
    parsed = parse_proto(text, NAME)
    assert linked(parsed, imported) == wanted
    printed = compiled(print_proto(parsed))
    assert printed is not None, print_proto(parsed)
    assert linked(printed[-1], imported) == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_protoc_reads(path: Path) -> None:
    text = path.read_text("utf-8")
    assert compiled(text) is not None, "protoc rejects it"
    check(text)


@given(proto_texts)
def test_random_texts(text: str) -> None:
    assert compiled(text) is not None, text
    check(text)


@given(st.sampled_from([path.read_text("utf-8") for path in FILES]), st.data())
def test_damaged_texts(text: str, data: st.DataObject) -> None:
    """Where protoc still reads them, so do we; else there is no error but one for the user."""
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 12))
    damaged = text[:start] + data.draw(st.sampled_from(["", ";", "}", "{", '"', "1", "a", "="]))
    damaged += text[end:]
    try:
        parse_proto(damaged, NAME)
    except ConfigError:
        assert compiled(damaged) is None, damaged
    else:
        check(damaged)


@pytest.mark.parametrize("text", MADE, ids=range(len(MADE)))
def test_the_schemas_of_columns(text: str) -> None:
    """protoc takes the schemas that we make, and reads them as we do."""
    assert compiled(text) is not None
    check(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('edition = "1990";', "unknown edition 1990"),
        ('edition = "2023"; option features.none = A;', "A is not a features.none"),
        (
            'edition = "2023"; message M { int32 a = 1 [features.field_presence = NEVER]; }',
            "NEVER is not a features.field_presence of a",
        ),
        ("message M { optional group G = 1 { } }", "groups are not supported"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_proto(text)
