"""Resource limits of queries: task slots, shuffle partitions, records of a batch.
slot_sharing.py decides which queries get scarce slots."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from streamsql.properties import RECORDS_PER_BATCH, SHUFFLE_PARTITIONS, get_text
from streamsql.sizes import Sizes

MOST_RESERVED = 4
"""Task slots, or a quarter of them, that are left to micro-batches."""

SHRINKS = 30
"""Divisor of batch sizes after an out-of-memory error: the number of records says little about
their bytes, and the query stops after three failures in a row."""
GROW_SECONDS = 600.0
"""Time until a reduced batch size doubles."""


def grown(divisor: float, seconds: float) -> float:
    """The divisor of the batch size, `seconds` after it was set: it halves every GROW_SECONDS."""
    return max(1.0, divisor / 2 ** (seconds / GROW_SECONDS))


class SlotBudget:
    """Counts the task slots that real-time queries hold.

    A real-time query holds a slot per source partition and one per shuffle partition of each
    shuffle for as long as it runs; micro-batches need slots left over to make progress.
    """

    def __init__(self, slots: Callable[[], int]) -> None:
        """`slots` returns the current number: executors join and leave."""
        self._slots = slots
        self._held: dict[str, int] = {}
        self._needed: dict[str, int] = {}
        self._lock = threading.Lock()

    def acquire(self, query_id: str, slots: int) -> bool:
        """Whether there is room; then the slots are held until `release`."""
        there = self._there()
        with self._lock:
            self._needed[query_id] = slots
            free = there - sum(n for q, n in self._held.items() if q != query_id)
            if slots > free:
                return False
            self._held[query_id] = slots
            return True

    def has_room(self, query_id: str) -> bool:
        there = self._there()
        with self._lock:
            wanted = self._needed.get(query_id)
            return wanted is not None and wanted <= there - sum(self._held.values())

    def release(self, query_id: str) -> None:
        with self._lock:
            self._held.pop(query_id, None)

    @property
    def holders(self) -> int:
        """How many queries hold slots."""
        with self._lock:
            return len(self._held)

    @property
    def held(self) -> int:
        """How many slots they hold."""
        with self._lock:
            return sum(self._held.values())

    @property
    def free(self) -> int:
        there = self._there()
        with self._lock:
            return there - sum(self._held.values())

    def _there(self) -> int:
        slots = self._slots()
        return slots - min(MOST_RESERVED, max(1, slots // 4))


class Capacity:
    """One engine's; may be used from any thread."""

    def __init__(self, sizes: Sizes, slots: Callable[[], int], *, elsewhere: bool = False) -> None:
        """`slots` returns the current number; `elsewhere`: one per executor core."""
        self._sizes = sizes
        self._slots = slots
        self._elsewhere = elsewhere
        self._budget = SlotBudget(slots)
        self._divided: dict[str, tuple[float, float]] = {}
        """By query, how much smaller its batches were to be, and since when."""

    def records_per_batch(self, properties: Mapping[str, str], query_id: str | None = None) -> int:
        """How many records a query made under these properties reads at most in a batch."""
        most = int(get_text(properties, RECORDS_PER_BATCH) or self._sizes.records_per_batch)
        return max(1, int(most / self._divisor(query_id or "")))

    def shrink(self, query_id: str) -> None:
        """Reduces a query's batches after an out-of-memory error."""
        self._divided[query_id] = self._divisor(query_id) * SHRINKS, time.monotonic()

    def _divisor(self, query_id: str) -> float:
        divisor, since = self._divided.get(query_id, (1.0, 0.0))
        return grown(divisor, time.monotonic() - since)

    def forget(self, query_id: str) -> None:
        """The query was dropped or replaced, so its failures are irrelevant."""
        self._divided.pop(query_id, None)

    def shuffle_partitions(
        self,
        properties: Mapping[str, str],
        topics: Iterable[str],
        partitions: Callable[[str], int | None],
    ) -> int:
        """Into how many parts its state falls, where it has none yet, by a topic's `partitions`."""
        told = get_text(properties, SHUFFLE_PARTITIONS)
        if told is not None:
            return int(told)
        # In real time all tasks of a query hold a slot each: a quarter leaves room for several.
        cpus = self._slots() // 4 if self._elsewhere else None
        return self._sizes.shuffle_partitions(
            lambda: max((partitions(topic) or 1 for topic in topics), default=1), cpus
        )

    def take(self, query_id: str, slots: int) -> bool:
        """Whether there was room for that many; then the query holds them until `release`."""
        return self._budget.acquire(query_id, slots)

    def has_room(self, query_id: str) -> bool:
        return self._budget.has_room(query_id)

    def release(self, query_id: str) -> None:
        self._budget.release(query_id)

    @property
    def holders(self) -> int:
        """How many queries hold slots."""
        return self._budget.holders

    @property
    def held(self) -> int:
        """How many slots queries hold."""
        return self._budget.held
