"""What DESCRIBE ERRORS makes of the processing log."""

from __future__ import annotations

import json

import pytest

from streamsql.statements.repair import errors
from streamsql.statements.repair.entries import Failure, Place, entry_of


def entry(text: str, offset: int | None = 7, query_id: str = "CSAS_O_1", time: int = 0) -> Failure:
    value = {
        "logger": f"processing.{query_id}.Source",
        "level": "ERROR",
        "time": time,
        "message": {"type": 0, "deserializationError": {"target": "value", "errorMessage": text}},
        "queryId": query_id,
        "topic": None if offset is None else "orders",
        "partition": None if offset is None else 0,
        "offset": offset,
    }
    found = entry_of(json.dumps(value).encode())
    assert isinstance(found, Failure)
    return found


def test_an_entry() -> None:
    found = entry("no JSON", time=5)
    assert found == Failure(
        "CSAS_O_1", "Source", "deserializationError", "no JSON", 5, Place("orders", 0, 7)
    )
    assert entry("no JSON", None).place is None


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b"1", b'{"message": {}}'])
def test_what_is_no_entry_is_passed_over(value: bytes | None) -> None:
    assert entry_of(value) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$.A: expected INT, found text 'x'", "$.A: expected INT, found text '..'"),
        ("not a Debezium change: it lacks 'op'", "not a Debezium change: it lacks '..'"),
        ("cannot convert '' (line 1, column 12)", "cannot convert '..' (line #, column #)"),
        ("-1.5e3 in COL1 of $.F2", "# in COL1 of $.F2"),
    ],
)
def test_a_reason_has_no_values(text: str, reason: str) -> None:
    assert entry(text).reason == reason


def test_reasons_are_counted_with_the_newest_example() -> None:
    found = [entry("bad 'a'", 1, time=1000), entry("bad 'b'", 2, time=2000), entry("other", None)]
    assert errors.grouped([*found, entry("bad 'c'", 3, "A")]) == [
        (
            "A",
            "Source",
            "bad '..'",
            1,
            "1970-01-01 00:00:00 UTC",
            "orders, partition 0, offset 3: bad 'c'",
        ),
        (
            "CSAS_O_1",
            "Source",
            "bad '..'",
            2,
            "1970-01-01 00:00:02 UTC",
            "orders, partition 0, offset 2: bad 'b'",
        ),
        ("CSAS_O_1", "Source", "other", 1, "1970-01-01 00:00:00 UTC", "other"),
    ]


def test_the_number_of_reasons_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "MOST_REASONS", 2)
    rows = errors.grouped(entry(text) for text in ("a", "b", "c", "d", "a"))
    assert [row[2:4] for row in rows] == [("(other reasons)", 2), ("a", 2), ("b", 1)]
