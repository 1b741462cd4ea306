"""Options for the resources of an engine, one per property."""

from __future__ import annotations

import argparse

SIZES = {
    "heap_mb": ("streamsql.heap.mb", "of Spark's heap"),
    "state_memory_mb": ("streamsql.state.memory.mb", "of the queries' state, outside the heap"),
    "store_memory_mb": ("streamsql.store.memory.mb", "of served tables, outside the heap"),
    "table_memory_mb": (
        "streamsql.table.memory.mb",
        "of the heap, for rows of tables that pull queries read; 0: they stay on disk",
    ),
    "task_slots": ("streamsql.task.slots", "tasks at a time, which are threads (default: 1024)"),
}
"""By the names of the options: their property, and what they bound."""


def add_size_options(parser: argparse.ArgumentParser, default: object) -> None:
    """Size options of engines that run queries; `default` is the value of options that are not
    given."""
    group = parser.add_argument_group(
        "sizes",
        "Defaults derive from the memory and CPUs of the machine or container.",
    )
    for name, (_, text) in SIZES.items():
        option = "--" + name.replace("_", "-")
        group.add_argument(option, type=int, metavar="N", default=default, help=text)


def sizes_of(args: argparse.Namespace) -> dict[str, str]:
    given = {known: getattr(args, name, None) for name, (known, _) in SIZES.items()}
    return {name: str(value) for name, value in given.items() if value is not None}
