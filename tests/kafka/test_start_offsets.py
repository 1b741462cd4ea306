"""The start positions of a query that has not begun yet."""

from __future__ import annotations

import json

from streamsql.kafka.start_offsets import starting_text

EARLIEST = -2
"""Spark's word for it."""


def test_partitions_that_came_later_are_read_from_their_beginning() -> None:
    told = json.loads(starting_text({"t": {"0": 7, "1": 9}}, {"t": 4}.get))
    assert told == {"t": {"0": 7, "1": 9, "2": EARLIEST, "3": EARLIEST}}


def test_a_query_that_begins_at_the_beginning_is_explicit() -> None:
    assert starting_text(None, {"t": 4}.get) == "earliest"
