"""Steps between the switch of a query to a rebuilt checkpoint and its next run. Each step is
idempotent and records its completion, so the next start continues here after a crash."""

from __future__ import annotations

from dataclasses import replace

from streamsql.executor.queries.checkpoint import (
    BUILDING,
    adopt,
    id_of,
    note_rebuild,
    rebuild_note,
)
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.rebuilds.comparisons import Comparisons
from streamsql.executor.services.services import Services
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.storage.location import Location


def settle(
    definition: Definition,
    launcher: SparkLauncher,
    services: Services,
    checkpoints: Location,
    compared: Comparisons,
) -> None:
    """Completes the rebuild of a query: it resumes from the new checkpoint, and its table has the
    new query's result. Idempotent. ExternalError if Kafka, Spark or the disk fails."""
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
    folder: Location,
    launcher: SparkLauncher,
    services: Services,
    compared: Comparisons,
) -> None:
    from streamsql.executor.rebuilds.corrections import Corrections

    once = definition.plan.guarantee is Guarantee.EXACTLY_ONCE
    writer = f"{definition.id}.{id_of(folder)}" if once else None
    corrections = Corrections.of(definition, made, launcher, services.kafka.get())
    corrections.write(compared.of(made), writer)
