"""JSON values as cells of rows that are inserted."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from streamsql.errors import TypeMismatchError
from streamsql.parser import parse_type
from streamsql.statements.inserting.json_cells import cell


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("INT", 5, 5),
        ("BIGINT", 1 << 40, 1 << 40),
        ("DOUBLE", 5, 5.0),
        ("DOUBLE", Decimal("1.5"), 1.5),
        ("DECIMAL(5, 2)", Decimal("1.5"), Decimal("1.50")),
        ("DECIMAL(5, 2)", "1.25", Decimal("1.25")),
        ("DECIMAL(5, 2)", 7, Decimal("7.00")),
        ("STRING", "a", "a"),
        ("BOOLEAN", False, False),
        ("BYTES", "AP8=", b"\x00\xff"),
        ("DATE", "2024-02-29", datetime.date(2024, 2, 29)),
        ("TIME", "00:00:01", datetime.time(0, 0, 1)),
        ("TIMESTAMP", "1970-01-01T00:00:01.5", datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)),
        ("ARRAY<INT>", [1, None], [1, None]),
        ("MAP<STRING, DATE>", {"a": "1970-01-02"}, {"a": datetime.date(1970, 1, 2)}),
        ("STRUCT<X INT, `y` STRING>", {"x": 1, "Y": "b", "z": 0}, {"X": 1, "y": "b"}),
        ("INT", None, None),
    ],
)
def test_fits(kind: str, value: Any, expected: Any) -> None:
    found = cell(value, parse_type(kind))
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", "5"),
        ("INT", 1 << 31),
        ("INT", Decimal("1.5")),
        ("INT", True),
        ("BIGINT", 1 << 63),
        ("DOUBLE", "x"),
        ("DOUBLE", 10**400),
        ("DECIMAL(3, 2)", Decimal("1.234")),
        ("DECIMAL(3, 2)", "many"),
        ("STRING", 5),
        ("STRING", {"a": 1}),
        ("STRING", "\ud800"),
        ("MAP<STRING, INT>", {"\udfff": 1}),
        ("BOOLEAN", "true"),
        ("BYTES", "not base64"),
        ("DATE", "yesterday"),
        ("TIMESTAMP", 5),
        ("ARRAY<INT>", 1),
        ("ARRAY<INT>", ["a"]),
        ("MAP<STRING, INT>", [1]),
        ("STRUCT<X INT>", {"X": "a"}),
    ],
)
def test_does_not_fit(kind: str, value: Any) -> None:
    with pytest.raises(TypeMismatchError, match="into type") as raised:
        cell(value, parse_type(kind))
    assert raised.value.message.encode()
