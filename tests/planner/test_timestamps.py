"""Timestamps that stand in text."""

from __future__ import annotations

import pytest

from streamsql.planner.types.timestamps import parse_timestamp

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970", 0),
        ("1970-01-02", DAY),
        ("1970-01-01T01", 3_600_000),
        ("1970-01-01T01:00:00.5+0100", 500),
        ("1970-01-01T24", DAY),
        ("1970-12-31T24:00", 365 * DAY),
        ("1970-01-01T24:01", None),
        ("1970-01-01T25", None),
        ("9999-12-31T24", None),
        ("yesterday", None),
    ],
)
def test_parts_and_zones(text: str, millis: int | None) -> None:
    assert parse_timestamp(text, hour_24=True) == millis


def test_hour_24_only_where_it_is_wanted() -> None:
    assert parse_timestamp("1970-01-01T24") is None
