"""Steps between the switch of a query to a rebuilt checkpoint and its next run. Each step is
idempotent and records its completion, so the next start continues here after a crash."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

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
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.storage.location import Location


class SettlingLauncher(SparkLauncher):
    """Completes the rebuild of a query before its next run, and empties the topic of a view that
    has no checkpoint."""

    @cached_property
    def comparisons(self) -> Comparisons:
        return Comparisons()

    def prepare(self, query: Definition) -> Positions:
        self._settle(query)
        positions = super().prepare(query)
        if query.is_view and query.generation != BUILDING and not self.has_begun(query):
            self._remove_rows(query)
        return positions

    def _settle(self, query: Definition) -> None:
        """The query resumes from the new checkpoint, and its table has the new query's result.
        Idempotent. ExternalError if Kafka, Spark or the disk fails."""
        if query.generation == BUILDING:
            return
        folder = self._data.checkpoints / query.id
        adopt(folder, query.generation)
        note = rebuild_note(folder)
        if note is None:
            return
        if note.topic is not None:
            if not note.settled:
                self._correct(query, note.topic, folder)
                note_rebuild(folder, replace(note, settled=True))
            self.comparisons.release(note.topic)
            self._services.kafka.get().delete_topic(note.topic, missing_ok=True)
        note_rebuild(folder, None)

    def _correct(self, query: Definition, made: str, folder: Location) -> None:
        from streamsql.executor.rebuilds.corrections import Corrections

        once = query.plan.guarantee is Guarantee.EXACTLY_ONCE
        writer = f"{query.id}.{id_of(folder)}" if once else None
        corrections = Corrections.of(query, made, self, self._services.kafka.get())
        corrections.write(self.comparisons.of(made), writer)

    def _remove_rows(self, query: Definition) -> None:
        """Removes what runs without this checkpoint have written: on another server, or before the
        checkpoint was lost. Its batches end elsewhere than theirs, so it does not retract each of
        their rows. Readers by epochs see the old rows until the view has done its first epoch."""
        from streamsql.executor.rebuilds.corrections import remove_rows

        remove_rows(query, self, self._services.kafka.get())
