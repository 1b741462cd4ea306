"""Outcome of each record of a replay, and its display."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from streamsql.results import Field, Rows, Value
from streamsql.statements.repair.entries import Failure, Place

FIELDS = ("Result", "Records", "Example")


class Outcome(Enum):
    """In display order."""

    REPLAYED = "replayed"
    NO_ROW = "read again: makes no row"
    FAILS = "fails still"
    HAS_ROW = "left out: may have made a row (REPLAY ALL ERRORS takes it too)"
    BEFORE = "left out: replayed before"
    UNCOMMITTED = "left out: the query has not committed it yet"
    READ_AGAIN = "left out: the query itself has read it again, by a later statement"
    TABLE = "left out: it belongs to a joined table"
    GONE = "left out: its topic no longer contains it"
    UNKNOWN = "left out: its record is unknown"
    MORE = "left out: exceeds the size of one replay; repeat the statement"


_DRY = {Outcome.REPLAYED: "would be replayed", Outcome.NO_ROW: "would make no row"}


class Places:
    """A compact set of positions."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, int], set[int]] = defaultdict(set)

    def add(self, place: Place) -> None:
        self._offsets[place.topic, place.partition].add(place.offset)

    def discard(self, place: Place) -> None:
        self._offsets[place.topic, place.partition].discard(place.offset)

    def __contains__(self, place: Place) -> bool:
        return place.offset in self._offsets.get((place.topic, place.partition), ())

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))


class Outcomes:
    """Counts each record once, by outcome."""

    def __init__(self) -> None:
        self._places: dict[Outcome, Places] = defaultdict(Places)
        self._unplaced: dict[Outcome, int] = defaultdict(int)
        self._examples: dict[Outcome, str] = {}

    def add(self, outcome: Outcome, failure: Failure, text: str | None = None) -> None:
        """Counts the record of a failure; `text` replaces its message."""
        if failure.place is None:
            self._unplaced[outcome] += 1
        else:
            self._places[outcome].add(failure.place)
        example = text or failure.text
        if failure.place is not None:
            example = f"{failure.place}: {example}"
        self._examples.setdefault(outcome, example)

    def forget(self, places: Iterable[Place]) -> None:
        """Uncounts records with several failures, one of which qualifies them."""
        for place in places:
            for noted in self._places.values():
                noted.discard(place)

    def rows(self, *, dry_run: bool) -> Rows:
        rows: list[tuple[Value, ...]] = []
        for outcome in Outcome:
            count = len(self._places[outcome]) + self._unplaced[outcome]
            if count:
                name = _DRY.get(outcome, outcome.value) if dry_run else outcome.value
                rows.append((name, count, self._examples[outcome]))
        return Rows(tuple(map(Field, FIELDS)), rows)
