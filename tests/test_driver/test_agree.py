"""When a value found agrees with the one expected."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from streamsql.test_driver.json_values import agree


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (None, None),
        (True, True),
        (1, 1),
        ("a", "a"),
        ({"a": 1}, {"A": 1}),
        ({"a": 1, "B": 2}, {"B": 2, "a": 1}),
        ([1, [2]], [1, [2]]),
        ([], []),
        (1, Decimal("1.0")),
        (Decimal("0.1"), 0.1),
        (Decimal("1000000"), Decimal("1000000.5")),
        ("1.5", Decimal("1.5")),
        (Decimal("0"), 0),
        (Decimal("123456789012345678.9"), Decimal("123456789012345678.90")),
        ("NaN", "NaN"),
    ],
)
def test_values_agree(expected: Any, found: Any) -> None:
    assert agree(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (None, 0),
        (0, None),
        (1, True),
        (True, 1),
        (1, 2),
        (1000000000, 1000000001),
        ("a", "b"),
        (1, "1"),
        ("a", 1),
        ({"a": 1}, {"A": 1, "B": None}),
        ({"a": 1, "b": None}, {"A": 1}),
        ({"A": 1}, {"a": 1}),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([1], {"0": 1}),
        (Decimal("1.0"), Decimal("1.1")),
        (Decimal("0"), Decimal("0.0001")),
        (Decimal("123456789012345678.9"), Decimal("123456789012345678.8")),
    ],
)
def test_values_differ(expected: Any, found: Any) -> None:
    assert not agree(expected, found)
