"""How far apart in time the rows of two streams may be that a join brings together."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Duration

FOREVER_MS = 1 << 58
"""A span of time that no two rows are apart; sums of four are still numbers of 64 bits."""


@dataclass(frozen=True)
class JoinWindow:
    """WITHIN: right rows from `before_ms` before to `after_ms` after the left row's time meet it.

    Without `grace_ms` rows may be a day late, and one that has met none is emitted at once; else
    such a row is held until its window has passed.
    """

    before_ms: int
    after_ms: int
    grace_ms: int | None = None

    @property
    def is_forever(self) -> bool:
        """Whether rows meet however far apart they are."""
        return self.before_ms >= FOREVER_MS

    @property
    def lateness_ms(self) -> int:
        """How late a row may be."""
        return Duration.UNITS_MS["DAY"] if self.grace_ms is None else self.grace_ms
