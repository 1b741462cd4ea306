"""What is done between the switch of a query to a checkpoint that was built anew and its next run.

Each step can be done again, and leaves behind what says that it was done: whatever is killed when,
the next start goes on here.
"""

from __future__ import annotations

from dataclasses import replace

from streamsql.executor.queries.checkpoint import (
    BUILDING,
    adopt,
    id_of,
    note_rebuild,
    rebuild_note,
)
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.persistent_query import Definition
from streamsql.executor.rebuilds.comparisons import Comparisons
from streamsql.executor.services.services import Services
from streamsql.places.place import Place
from streamsql.planner.plans.guarantee import Guarantee


def settle(
    definition: Definition,
    launcher: SparkLauncher,
    services: Services,
    checkpoints: Place,
    compared: Comparisons,
) -> None:
    """Have a query be where its rebuild has come to: it goes on from the new checkpoint, and its
    table holds what the new query makes. Does nothing where that is so. ExternalError where Kafka,
    Spark or the disk fails."""
    if definition.generation == BUILDING:
        return
    folder = checkpoints / definition.id
    adopt(folder, definition.generation)
    note = rebuild_note(folder)
    if note is None:
        return
    if note.topic is not None:
        if not note.settled:
            _correct(definition, note.topic, folder, launcher, services, compared)
            note_rebuild(folder, replace(note, settled=True))
        compared.release(note.topic)
        services.kafka.get().delete_topic(note.topic, missing_ok=True)
    note_rebuild(folder, None)


def _correct(
    definition: Definition,
    made: str,
    folder: Place,
    launcher: SparkLauncher,
    services: Services,
    compared: Comparisons,
) -> None:
    from streamsql.executor.rebuilds.corrections import Corrections

    once = definition.plan.guarantee is Guarantee.EXACTLY_ONCE
    writer = f"{definition.id}.{id_of(folder)}" if once else None
    corrections = Corrections.of(definition, made, launcher, services.kafka.get())
    corrections.write(compared.of(made), writer)
