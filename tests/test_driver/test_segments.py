"""Inputs are split only where the order of the list would otherwise get lost."""

from __future__ import annotations

import pytest

from streamsql.test_driver.segments import Arrival, segments


def pieces(text: str, **options: bool) -> str:
    """`a1 b2 b?`: topic and time of each input; the pieces are separated by bars."""
    words = text.split()
    arrivals = [Arrival(w[0], None if w[1:] == "?" else int(w[1:])) for w in words]
    found = segments(arrivals, **{"ordered": True, **options})
    return " | ".join(" ".join(words[i] for i in piece) for piece in found)


@pytest.mark.parametrize(
    "expected",
    [
        "",
        "a1",
        "a1 a1 a2",
        "a2 | a1",
        "a1 b2 a3",
        "a1 | b1",
        "a1 a1 b2 | a2 | b2",
        "a? | a?",
        "a1 | b? | a3 a4",
    ],
)
def test_pieces(expected: str) -> None:
    assert pieces(expected.replace("| ", "")) == expected


def test_without_memory_one_piece_is_enough() -> None:
    assert pieces("a2 a1 b1", ordered=False) == "a2 a1 b1"


def test_each_record_on_its_own() -> None:
    assert pieces("a1 a2 b3", ordered=False, each=True) == "a1 | a2 | b3"
