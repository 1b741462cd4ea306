"""When the state of a benchmark counts as flat, and that its queries are right."""

from __future__ import annotations

import pytest

from benchmarks.queries import STATE
from benchmarks.state import Sample, is_flat
from streamsql.api.checking import NamedText, check


@pytest.mark.parametrize(
    ("rows", "sizes", "flat"),
    [
        ([10, 100, 100, 100, 100, 100, 100, 100, 100, 60], [5] * 10, True),
        (range(10, 110, 10), [5] * 10, False),
        ([100] * 10, range(10, 110, 10), False),
        ([100] * 10, [10, 50, 90, 20, 60, 99, 30, 70, 95, 40], True),
    ],
)
def test_what_is_flat(rows: list[int], sizes: list[int], flat: bool) -> None:
    found = [Sample(0, count, size, 0, 0, 0) for count, size in zip(rows, sizes, strict=True)]
    assert is_flat(found) is flat


@pytest.mark.parametrize("name", STATE)
def test_queries(name: str) -> None:
    script = NamedText(name, STATE[name].over("events", "other", "sink"))
    checked = check(script, {}, {}, lambda path: path)
    assert (checked.errors, checked.warnings) == ([], [])
