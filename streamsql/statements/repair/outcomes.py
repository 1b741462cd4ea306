"""What becomes of each record that a replay looks at, and how that is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from streamsql.results import Field, Rows, Value
from streamsql.statements.repair.entries import Failure, Place

FIELDS = ("Result", "Records", "Example")


class Outcome(Enum):
    """In the order in which they are told."""

    REPLAYED = "replayed"
    NO_ROW = "read again: makes no row"
    FAILS = "fails still"
    HAS_ROW = "left out: may have made a row (REPLAY ALL ERRORS takes it too)"
    BEFORE = "left out: replayed before"
    UNCOMMITTED = "left out: the query has not committed it yet"
    READ_AGAIN = "left out: the query itself has read it again, by a later statement"
    TABLE = "left out: it is of a table that is joined"
    GONE = "left out: it is no longer in its topic"
    UNKNOWN = "left out: which record it was is not known"
    MORE = "left out: more than one replay takes; say it again"


_DRY = {Outcome.REPLAYED: "would be replayed", Outcome.NO_ROW: "would make no row"}


class Places:
    """Many places in little memory."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, int], set[int]] = defaultdict(set)

    def add(self, place: Place) -> None:
        """Have it among them."""
        self._offsets[place.topic, place.partition].add(place.offset)

    def discard(self, place: Place) -> None:
        """Have it not among them."""
        self._offsets[place.topic, place.partition].discard(place.offset)

    def __contains__(self, place: Place) -> bool:
        return place.offset in self._offsets.get((place.topic, place.partition), ())

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))


class Outcomes:
    """Of all records, each counted once for an outcome."""

    def __init__(self) -> None:
        self._places: dict[Outcome, Places] = defaultdict(Places)
        self._unplaced: dict[Outcome, int] = defaultdict(int)
        self._examples: dict[Outcome, str] = {}

    def add(self, outcome: Outcome, failure: Failure, text: str | None = None) -> None:
        """Note what became of the record of a failure; `text` in place of its own."""
        if failure.place is None:
            self._unplaced[outcome] += 1
        else:
            self._places[outcome].add(failure.place)
        example = text or failure.text
        if failure.place is not None:
            example = f"{failure.place}: {example}"
        self._examples.setdefault(outcome, example)

    def forget(self, places: Iterable[Place]) -> None:
        """These have failed in several ways, of which one is reason enough to take them."""
        for place in places:
            for noted in self._places.values():
                noted.discard(place)

    def rows(self, *, dry_run: bool) -> Rows:
        """As they are shown."""
        rows: list[tuple[Value, ...]] = []
        for outcome in Outcome:
            count = len(self._places[outcome]) + self._unplaced[outcome]
            if count:
                name = _DRY.get(outcome, outcome.value) if dry_run else outcome.value
                rows.append((name, count, self._examples[outcome]))
        return Rows(tuple(map(Field, FIELDS)), rows)
