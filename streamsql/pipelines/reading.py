"""What a rebuild reads again, and what of it is lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lost:
    """Deleted records that a query has read, or could have read."""

    topic: str
    partition: int
    first: int
    begin: int
    """The first available offset."""

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offsets {self.first} to {self.begin - 1}"


@dataclass(frozen=True)
class Reading:
    """The input of a rebuild."""

    records: int
    """Approximate: includes compacted records."""
    bytes: int | None
    """Estimated from the records the query has read; None if it has read none."""
    lost: tuple[Lost, ...]
    seconds: int | None = None
    """Estimated from the last catch-up of the query or of another one over the same topics; None
    without one."""
