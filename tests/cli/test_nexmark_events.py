"""Nexmark's events as `streamsql datagen` makes them up."""

from __future__ import annotations

from collections import Counter

from streamsql.load.nexmark import COLUMNS, events


def test_an_event_depends_on_its_number_and_the_seed_alone() -> None:
    made = list(events(1, 0, 1000, lambda number: number))
    assert made[123:777] == list(events(1, 123, 654, lambda number: number))
    assert made != list(events(2, 0, 1000, lambda number: number))


def test_of_fifty_one_is_a_person_three_are_auctions() -> None:
    made = list(events(1, 0, 5000, lambda number: number))
    assert Counter(kind for kind, _ in made) == {"person": 100, "auction": 300, "bid": 4600}
    assert all(list(row) == list(COLUMNS[kind]) for kind, row in made)


def test_who_bids_and_what_is_bid_for_has_been_there_before() -> None:
    ids: dict[str, set[object]] = {"person": set(), "auction": set()}
    for kind, row in events(1, 0, 5000, lambda number: number):
        if kind == "bid":
            assert row["auction"] in ids["auction"] and row["bidder"] in ids["person"]
        else:
            assert kind == "person" or row["seller"] in ids["person"]
            ids[kind].add(row["id"])
