"""The first lookup of a served table, by the key of one of its rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from streamsql.parser import parse
from streamsql.results import Value
from streamsql.serving.warm_up import literal


@pytest.mark.parametrize(
    "value",
    ["it's", 7, -2.5, Decimal("1.20"), True, datetime(2025, 3, 1, tzinfo=UTC), date(2025, 3, 1)],
)
def test_the_key_of_each_type_is_a_literal(value: Value) -> None:
    (statement,) = parse(f"SELECT * FROM t WHERE k = {literal(value)};")
    assert statement.span is not None
