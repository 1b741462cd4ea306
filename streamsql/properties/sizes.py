"""Sizes of an engine and its queries. Unset sizes derive from the machine: see streamsql.sizes."""

from __future__ import annotations

from streamsql.properties.definitions import PropertyDefinition, PropertyType

HEAP = "streamsql.heap.mb"
TASK_SLOTS = "streamsql.task.slots"
STATE_MEMORY = "streamsql.state.memory.mb"
STORE_MEMORY = "streamsql.store.memory.mb"
TABLE_MEMORY = "streamsql.table.memory.mb"
SHUFFLE_PARTITIONS = "streamsql.shuffle.partitions"
RECORDS_PER_BATCH = "streamsql.records.per.batch"


def _of_engine(name: str, doc: str, minimum: int) -> PropertyDefinition:
    return PropertyDefinition(name, PropertyType.INTEGER, None, doc, minimum=minimum, at_start=True)


DEFINITIONS = (
    _of_engine(HEAP, "The most memory of Spark's heap, in MB.", 256),
    _of_engine(
        TASK_SLOTS,
        "How many tasks can run at a time: threads, not cores. A query in real time holds one for "
        "each partition that it reads and for each of its shuffle partitions.",
        8,
    ),
    _of_engine(
        STATE_MEMORY,
        "The most memory that the state of all queries takes outside the heap, in MB; what does "
        "not fit is on disk.",
        16,
    ),
    _of_engine(
        STORE_MEMORY,
        "The most memory that the stores of served tables take outside the heap, in MB; what does "
        "not fit is on disk.",
        16,
    ),
    _of_engine(
        TABLE_MEMORY,
        "The most memory of the heap for rows of served tables that pull queries have read, in "
        "MB; 0: they stay on disk.",
        0,
    ),
    PropertyDefinition(
        SHUFFLE_PARTITIONS,
        PropertyType.INTEGER,
        None,
        "By how many tasks new queries group, join and keep state; unset: as many as the topics "
        "that are read have partitions, at most one for each core, and at least two. A query keeps "
        "the number that it began with.",
        minimum=1,
        maximum=1000,
    ),
    PropertyDefinition(
        RECORDS_PER_BATCH,
        PropertyType.INTEGER,
        None,
        "How many records new queries read at most in one micro-batch.",
        minimum=1000,
    ),
)
