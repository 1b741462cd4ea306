"""The classes of change, from nothing to what must not be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ChangeClass(IntEnum):
    """How far a change reaches. A change of several parts is of the highest of their classes."""

    NONE = 0
    """The same normalised plan."""
    SETTINGS = 1
    """Settings, comments, columns that nobody reads yet: nothing is computed in another way."""
    IN_PLACE = 2
    """Behind the last state: the same checkpoint, the query goes on where it stopped."""
    STATE = 3
    """New state that could be computed from the state that is there: it is, where `keeping` says
    so, and else built anew, too."""
    REBUILD = 4
    """What only the log can tell: built anew from it."""
    REFUSED = 5
    """What must not be done to what others rely on."""

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ChangeClass.NONE: "nothing to do",
    ChangeClass.SETTINGS: "settings",
    ChangeClass.IN_PLACE: "goes on where it stopped",
    ChangeClass.STATE: "built anew from the log",
    ChangeClass.REBUILD: "built anew from the log",
    ChangeClass.REFUSED: "refused",
}


PARTITIONS = "shuffle partitions"
"""The clause of a difference in the number of parts that state falls into."""


@dataclass(frozen=True)
class Difference:
    """One part that is another than it was."""

    change: ChangeClass
    clause: str
    """Where it stands: WHERE, GROUP BY, SELECT .."""
    text: str
    """What it was and what it is."""
    effect: str
    """What becomes of rows and state."""
    instead: str | None = None
    """Of a rebuild: what would be kept, and be mixed, if the state went on (class 3)."""
    rewrites: bool = False
    """Of class 3: whether the state that is there tells all of the new one."""


@dataclass(frozen=True)
class Change:
    """All that differs."""

    differences: tuple[Difference, ...] = ()

    @property
    def change(self) -> ChangeClass:
        return max((d.change for d in self.differences), default=ChangeClass.NONE)

    @property
    def decisive(self) -> tuple[Difference, ...]:
        highest = self.change
        return tuple(d for d in self.differences if d.change is highest)

    @property
    def may_mix(self) -> bool:
        """Whether the state that is there can go on: what it holds was made by the old text, what
        comes is made by the new one."""
        further = (d for d in self.differences if d.change > ChangeClass.IN_PLACE)
        return all(d.instead is not None for d in further)

    def and_also(self, more: Iterable[Difference]) -> Change:
        return Change((*self.differences, *more))
