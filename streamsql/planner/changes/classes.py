"""The classes of change, from none to refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ChangeClass(IntEnum):
    """How far a change reaches. A change of several parts has the highest of their classes."""

    NONE = 0
    """The same normalised plan."""
    SETTINGS = 1
    """Settings, comments, columns that no query reads yet: no result is computed differently."""
    IN_PLACE = 2
    """After the last state: the query continues from the same checkpoint."""
    STATE = 3
    """New state that can be computed from the existing state. Where `keeping` does not support
    that, the query is rebuilt."""
    REBUILD = 4
    """New state that only the log provides: the query is rebuilt."""
    REFUSED = 5
    """Refused, because other objects depend on the old definition."""

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ChangeClass.NONE: "nothing to do",
    ChangeClass.SETTINGS: "settings",
    ChangeClass.IN_PLACE: "continues from its checkpoint",
    ChangeClass.STATE: "rebuilt from the log",
    ChangeClass.REBUILD: "rebuilt from the log",
    ChangeClass.REFUSED: "refused",
}


PARTITIONS = "shuffle partitions"
"""The clause of a difference in the number of shuffle partitions."""


@dataclass(frozen=True)
class Difference:
    """One changed part."""

    change: ChangeClass
    clause: str
    """The clause: WHERE, GROUP BY, SELECT .."""
    text: str
    """The part before and after."""
    effect: str
    """The effect on rows and state."""
    instead: str | None = None
    """For a rebuild: what would be mixed if the query continued with its state (class 3)."""
    rewrites: bool = False
    """For class 3: whether the existing state determines all of the new one."""


@dataclass(frozen=True)
class Change:
    """All differences."""

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
        """Whether the query can continue with its state, in which rows of the old and the new
        definition would be mixed."""
        further = (d for d in self.differences if d.change > ChangeClass.IN_PLACE)
        return all(d.instead is not None for d in further)

    def and_also(self, more: Iterable[Difference]) -> Change:
        return Change((*self.differences, *more))
