"""Whether a topic's records are those expected."""

from __future__ import annotations

from typing import Any

import pytest

from streamsql.schema import Kind
from streamsql.testing.comparison import Comparison, Sink, differences

TABLE, STREAM = Sink(Kind.TABLE), Sink(Kind.STREAM)


def record(key: Any, value: Any, timestamp: int | None = None, **more: Any) -> dict[str, Any]:
    found = {"topic": "T", "key": key, "value": value, **more}
    return found if timestamp is None else {**found, "timestamp": timestamp}


def found(*records: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"timestamp": 7, "window": None, "headers": [], **r} for r in records]


def test_of_a_table_only_the_last_record_of_a_key_counts() -> None:
    expected = [record("a", 1), record("b", 5), record("a", 2)]
    assert not differences(TABLE, expected, found(record("b", 5), record("a", 2)))
    assert differences(TABLE, expected, found(record("b", 5), record("a", 2), record("a", 1))) == [
        'key "a": expected 2, found 1 at 7'
    ]


def test_a_deleted_key_may_be_absent_or_null() -> None:
    expected = [record("a", 1), record("a", None)]
    assert not differences(TABLE, expected, [])
    assert not differences(TABLE, expected, found(record("a", None)))
    assert differences(TABLE, expected, found(record("a", 1))) == [
        'key "a": expected null, found 1 at 7'
    ]


def test_a_deleted_key_need_not_be_named() -> None:
    assert not differences(TABLE, [], found(record("a", 1), record("a", None)))
    assert differences(STREAM, [], found(record("a", None))) == [
        'key "a": not expected, found null at 7'
    ]


def test_no_other_key_may_appear() -> None:
    assert differences(TABLE, [], found(record("a", 1))) == ['key "a": not expected, found 1 at 7']


def test_times_of_tables_are_compared_where_asked_for() -> None:
    expected, actual = [record("a", 1, 3)], found(record("a", 1))
    assert not differences(TABLE, expected, actual)
    assert differences(Sink(Kind.TABLE, table_times=True), expected, actual)


def test_of_a_stream_each_key_has_its_records_in_order() -> None:
    expected = [record("a", 1), record("b", 2), record("a", 3)]
    reordered = found(record("b", 2), record("a", 1), record("a", 3))
    assert not differences(STREAM, expected, reordered)
    swapped = found(record("a", 3), record("b", 2), record("a", 1))
    assert differences(STREAM, expected, swapped) == [
        'key "a": expected 1, found 3 at 7',
        'key "a": expected 3, found 1 at 7',
    ]


def test_a_stream_lacks_or_has_too_many_records() -> None:
    assert differences(STREAM, [record("a", 1)], []) == ['key "a": expected 1, found nothing']
    assert differences(STREAM, [], found(record("a", 1))) == ['key "a": not expected, found 1 at 7']


def test_several_writers_have_no_order_among_each_other() -> None:
    expected = [record("a", 1), record("a", 2), record("a", 2)]
    actual = found(record("a", 2), record("a", 2), record("a", 1))
    assert not differences(Sink(Kind.STREAM, writers=2), expected, actual)
    assert differences(Sink(Kind.STREAM, writers=2), expected, actual[:2]) == [
        'key "a": expected 1, found no such record'
    ]


@pytest.mark.parametrize(
    ("expected", "same"),
    [
        (record("a", 1, 7), True),
        (record("a", 1, 8), False),
        (record("a", 1, headers=[]), True),
        (record("a", 1, headers=[{"KEY": "h", "VALUE": None}]), False),
        (record("a", 1, window={"start": 0, "end": 5, "type": "time"}), False),
    ],
)
def test_times_headers_and_windows_of_streams(expected: dict[str, Any], same: bool) -> None:
    assert (not differences(STREAM, [expected], found(record("a", 1)))) is same


def test_exact_wants_every_record_in_order_across_keys() -> None:
    expected = [record("a", 1), record("b", 2)]
    assert not differences(TABLE, expected, found(*expected), Comparison.EXACT)
    assert differences(TABLE, expected, found(*reversed(expected)), Comparison.EXACT) == [
        'expected key "a" 1, found key "b" 2 at 7',
        'expected key "b" 2, found key "a" 1 at 7',
    ]
