"""Sizes of an engine, configured or derived from the machine. A container's limits count as the
machine (cgroup v2). These are upper bounds: nothing is allocated in advance."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.properties import sizes as names
from streamsql.status import Resources

TASK_SLOTS = 1024
"""Threads, not cores; unused ones are never created."""
LEAST_HEAP_MB = 512
HEAP_MB_PER_CPU = 512
"""The heap mostly holds the records of running tasks; two more CPUs' worth covers the rest."""
HEAP_MB_PER_RUN = 16
"""A query without records keeps 3 MB of the heap while it runs in Spark, and as much outside."""
MOST_HEAP_MB = 31 * 1024
"""Beyond it the JVM cannot compress references."""
MOST_RECORDS_PER_BATCH = 2_000_000
RECORDS_PER_MB = 1_000
"""Per MB of heap: a micro-batch holds the rows of a key in memory."""
STATE_MB_PER_CPU = 256
STORE_MB_PER_CPU = 64
LEAST_SHUFFLE_PARTITIONS = 2


@dataclass(frozen=True)
class Machine:
    """Available resources."""

    cpus: int
    memory_mb: int

    @classmethod
    def this(cls) -> Machine:
        """This machine, or the container's limits."""
        return read_machine(Path("/"), _system_cpus())


def read_machine(root: Path, cpus: int) -> Machine:
    """The machine described by the kernel's files below `root`."""
    memory = _system_memory(root)
    for group in _groups(root):
        if (limit := _first_number(group / "memory.max")) is not None:
            memory = min(memory, limit)
        quota = _words(group / "cpu.max")
        if len(quota) == 2 and quota[0].isdecimal() and int(quota[1]) > 0:
            cpus = min(cpus, max(1, -(-int(quota[0]) // int(quota[1]))))
    return Machine(cpus, memory >> 20)


def _system_cpus() -> int:
    """CPUs available to the process, if the system reports them."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _system_memory(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _groups(root: Path) -> Iterator[Path]:
    """Folders of the process's control group and its parents."""
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
    """None: Spark's master decides."""

    def shuffle_partitions(self, read: Callable[[], int], cpus: int | None = None) -> int:
        """Default for a query over topics with that many partitions at most; `cpus` are those of a
        cluster."""
        most = max(LEAST_SHUFFLE_PARTITIONS, self.machine.cpus if cpus is None else cpus)
        if most == LEAST_SHUFFLE_PARTITIONS:
            return most
        return min(most, max(LEAST_SHUFFLE_PARTITIONS, read()))

    @property
    def runs(self) -> int:
        """The number of queries in Spark beyond which those without records leave it."""
        return self.heap_mb // HEAP_MB_PER_RUN

    def effective(self) -> dict[str, str]:
        """Effective values by property name."""
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
        """Effective values as numbers."""
        memory = {
            "machine": self.machine.memory_mb,
            "heap": self.heap_mb,
            "state": self.state_memory_mb,
            "stores": self.store_memory_mb,
            "tables": self.table_memory_mb,
        }
        return Resources(self.machine.cpus, memory, self.task_slots, slots_held)

    def text(self) -> str:
        """Effective values in one line."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.effective().items())
        return f"{self.machine.cpus} CPUs, {self.machine.memory_mb} MB of memory: {sizes}"


def sizes_of(
    machine: Machine, given: Mapping[str, str], master_slots: int | None, *, has_master: bool
) -> Sizes:
    """Sizes of an engine with these properties. `has_master`: with a Spark master, which has
    `slots` task slots if known. ConfigError if the two conflict."""
    if has_master and names.TASK_SLOTS in given:
        raise ConfigError(
            f"'{names.TASK_SLOTS}' and --master exclude each other: the master has its own",
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
