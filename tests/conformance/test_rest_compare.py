"""How answers of the HTTP interface are compared with those expected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rest.case import RestCase
from tests.conformance.rest.compare import entity_differs, rows_differ
from tests.conformance.rest.proto import proto_rows_differ
from tests.conformance.rest.suite import KNOWN_FAILURES
from tests.conformance.verdict import read_known

HEADER = {"header": {"queryId": "q_1", "schema": "`A` INTEGER"}}
SCHEMA = 'syntax = "proto3";\n\nmessage M {\n  int32 A = 1;\n  repeated MEntry B = 2;\n\n  message '
SCHEMA += "MEntry {\n    string key = 1;\n    int32 value = 2;\n  }\n}\n"


def row(*columns: Any) -> dict[str, Any]:
    return {"row": {"columns": list(columns)}}


@pytest.mark.parametrize(
    ("expected", "found", "problem"),
    [
        ({"@type": "a"}, {"@type": "a", "b": 1}, None),
        ({"@type": "a"}, {"@type": "b"}, "@type: expected 'a', found 'b'"),
        ({"s": "{STATEMENT}"}, {"s": "SHOW X;"}, None),
        ({"id|starts_with": "CS"}, {"id": "CSAS"}, None),
        ({"id|starts_with": "CS"}, {"id": "CTAS"}, "id: expected 'CS'.., found 'CTAS'"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: expected 1, found 2"),
        ({"a": {"b": 1}}, {}, "a.b: expected 1, found None"),
    ],
)
def test_entities(expected: Any, found: Any, problem: str | None) -> None:
    assert entity_differs(expected, found, "SHOW X;") == problem


@pytest.mark.parametrize(
    ("expected", "found", "in_order", "same"),
    [
        ([row(1), row(2)], [row(2), row(1)], False, True),
        ([row(1), row(2)], [row(2), row(1)], True, False),
        ([row(1), row(1)], [row(1), row(2)], False, False),
        ([row(1)], [row(1), row(1)], False, False),
        ([row(None)], [row(0)], False, False),
        ([row(1), {"finalMessage": "Limit Reached"}], [row(1)], False, False),
    ],
)
def test_rows(expected: Any, found: Any, in_order: bool, same: bool) -> None:
    wanted = [{"header": {"schema": "`A` INTEGER"}}, *expected]
    differs = rows_differ(wanted, [HEADER, *found], "", in_order=in_order)
    assert (differs is None) is same


@pytest.mark.parametrize(
    ("data", "same"), [("CAESBQoBeBAB", True), ("CAISBQoBeBAB", False), ("CAE=", False)]
)
def test_protobuf_rows(data: str, same: bool) -> None:
    header = {"header": {"protoSchema": SCHEMA}}
    expected = [header, {"row": 'A: 1\nB {\n  key: "x"\n  value: 1\n}\n'}]
    found = [header, {"row": {"protobufBytes": data}}]
    assert (proto_rows_differ(expected, found, in_order=False) is None) is same


def test_topics_that_are_there_before() -> None:
    case = RestCase(
        "id",
        ["CREATE STREAM s (v INT) WITH (kafka_topic='a', PARTITIONS=2, VALUE_FORMAT='JSON');"],
        topics=[{"name": "b", "partitions": 1}],
        inputs=[{"topic": "c"}, {"topic": "b"}],
    )
    assert case.topics_before() == {"a": 2, "b": 1, "c": 4}


def test_every_known_failure_has_a_reason() -> None:
    known = read_known(KNOWN_FAILURES)
    assert list(known) == sorted(known) and all(reason.strip() for reason in known.values())
