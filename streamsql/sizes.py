"""How large an engine is: as it was told, and else as its machine has room for it.

A container's share of the machine counts as the machine (cgroup v2). Nothing is taken when it is
planned here: these are bounds, and an engine with little to do stays small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.properties import sizes as names
from streamsql.status import Resources

TASK_SLOTS = 1024
"""Threads, not cores: one that no query holds is never made."""
LEAST_HEAP_MB = 512
HEAP_MB_PER_CPU = 512
"""What is in memory is mostly what tasks at work have read; two CPUs more for all the rest."""
MOST_HEAP_MB = 31 * 1024
"""Beyond it the JVM's references are twice as long."""
MOST_RECORDS_PER_BATCH = 2_000_000
RECORDS_PER_MB = 1_000
"""Of the heap: the rows of a key are in memory while a micro-batch works on them."""
STATE_MB_PER_CPU = 256
STORE_MB_PER_CPU = 64
LEAST_SHUFFLE_PARTITIONS = 2


@dataclass(frozen=True)
class Machine:
    """What an engine may use."""

    cpus: int
    memory_mb: int

    @classmethod
    def this(cls) -> Machine:
        """The machine that we run on, or the container's share of it."""
        return read_machine(Path("/"), _system_cpus())


def read_machine(root: Path, cpus: int) -> Machine:
    """The machine whose files are below `root`, as the kernel shows them."""
    memory = _system_memory(root)
    for group in _groups(root):
        if (limit := _first_number(group / "memory.max")) is not None:
            memory = min(memory, limit)
        quota = _words(group / "cpu.max")
        if len(quota) == 2 and quota[0].isdecimal() and int(quota[1]) > 0:
            cpus = min(cpus, max(1, -(-int(quota[0]) // int(quota[1]))))
    return Machine(cpus, memory >> 20)


def _system_cpus() -> int:
    """Those that the process may run on, which not every system says."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _system_memory(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the control group that we are in, and of all that it is in."""
    for line in _lines(root / "proc/self/cgroup"):
        if line.startswith("0::"):
            own = Path(line.removeprefix("0::").strip().lstrip("/"))
            for group in (own, *own.parents):
                yield root / "sys/fs/cgroup" / group


def _first_number(path: Path) -> int | None:
    words = _words(path)
    return int(words[0]) if words and words[0].isdecimal() else None


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return []


@dataclass(frozen=True)
class Sizes:
    """The sizes of one engine; memory in MB."""

    machine: Machine
    heap_mb: int
    state_memory_mb: int
    store_memory_mb: int
    table_memory_mb: int
    records_per_batch: int
    task_slots: int | None
    """None: Spark's master says."""

    def shuffle_partitions(self, read: Callable[[], int], cpus: int | None = None) -> int:
        """For a query that was told none, and reads topics of that many partitions at most;
        `cpus` are those of a cluster."""
        most = max(LEAST_SHUFFLE_PARTITIONS, self.machine.cpus if cpus is None else cpus)
        if most == LEAST_SHUFFLE_PARTITIONS:
            return most
        return min(most, max(LEAST_SHUFFLE_PARTITIONS, read()))

    def effective(self) -> dict[str, str]:
        """What holds where nothing else was said, by the names of properties."""
        found = {
            names.HEAP: self.heap_mb,
            names.TASK_SLOTS: self.task_slots,
            names.STATE_MEMORY: self.state_memory_mb,
            names.STORE_MEMORY: self.store_memory_mb,
            names.TABLE_MEMORY: self.table_memory_mb,
            names.RECORDS_PER_BATCH: self.records_per_batch,
        }
        return {name: str(value) for name, value in found.items() if value is not None}

    def resources(self, slots_held: int) -> Resources:
        """The same as numbers."""
        memory = {
            "machine": self.machine.memory_mb,
            "heap": self.heap_mb,
            "state": self.state_memory_mb,
            "stores": self.store_memory_mb,
            "tables": self.table_memory_mb,
        }
        return Resources(self.machine.cpus, memory, self.task_slots, slots_held)

    def text(self) -> str:
        """The same for people, in one line."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.effective().items())
        return f"{self.machine.cpus} CPUs, {self.machine.memory_mb} MB of memory: {sizes}"


def sizes_of(
    machine: Machine, given: Mapping[str, str], master_slots: int | None, *, has_master: bool
) -> Sizes:
    """The sizes of an engine that was told those properties. `has_master`: and a Spark master,
    which has that many task slots, if that is known. ConfigError where the two contradict."""
    if has_master and names.TASK_SLOTS in given:
        raise ConfigError(
            f"'{names.TASK_SLOTS}' and --master go not together: the master has its own",
            hint='Leave one of them out; --master "local[N]" has N.',
        )

    def told(name: str, default: int) -> int:
        return int(given[name]) if name in given else default

    memory, cpus = machine.memory_mb, machine.cpus
    wanted = min(memory // 4, (cpus + 2) * HEAP_MB_PER_CPU)
    heap = told(names.HEAP, _within(LEAST_HEAP_MB, wanted, MOST_HEAP_MB))
    batch = _within(1_000, heap * RECORDS_PER_MB, MOST_RECORDS_PER_BATCH)
    return Sizes(
        machine,
        heap,
        told(names.STATE_MEMORY, _within(64, memory // 16, cpus * STATE_MB_PER_CPU)),
        told(names.STORE_MEMORY, _within(32, memory // 64, cpus * STORE_MB_PER_CPU)),
        told(names.TABLE_MEMORY, heap // 4),
        told(names.RECORDS_PER_BATCH, batch),
        master_slots if has_master else told(names.TASK_SLOTS, TASK_SLOTS),
    )


def _within(least: int, wanted: int, most: int) -> int:
    return max(least, min(wanted, most))
