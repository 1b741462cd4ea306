"""A query's new checkpoint with its state in another number of partitions. Applies to keyed
operators, whose entries Spark moves unchanged. Spark works in place, and a failure leaves an
unusable checkpoint, so it works on a copy."""

from __future__ import annotations

import uuid

from streamsql.errors import ExternalError, InternalError
from streamsql.executor.queries import checkpoint
from streamsql.executor.queries.checkpoint import BUILDING
from streamsql.executor.queries.path_fixup import relocate
from streamsql.executor.rebuilds.rewriting import KeptState, StateNotKeptError, check_committed
from streamsql.kafka.positions import Positions
from streamsql.storage import location
from streamsql.storage.location import entries

_COPIED = ("commits", "offsets", "sources", "state", "state.json")
"""The query's files; the others identify the checkpoint's owner."""


class Repartition(KeptState):
    """The repartitioning of keyed operators."""

    def begin(self) -> None:
        """Nothing to do before the old query stops."""
        self.discard()

    def finish(self, until: Positions) -> None:
        """Complete the checkpoint at the old query's final position. StateNotKeptError if Spark
        cannot repartition the state, ExternalError if the disk fails."""
        from streamsql.executor.queries.start import checkpointed_shuffle_partitions
        from streamsql.executor.rebuilds.muted import repartition

        self.discard()
        check_committed(self.old, self._there)
        if checkpoint.is_torn(self._there):
            raise InternalError(f"{self._there} has an uncommitted batch")
        number = self.definition.plan.partitions
        assert number is not None
        self._copy()
        if number != checkpointed_shuffle_partitions(self._folder):
            try:
                repartition(self._folder, number, self._services)
            except ExternalError as error:
                if error.retryable:
                    raise
                raise StateNotKeptError(self.old.id, error.message) from error
        if checkpoint.committed(self._folder) != until:
            raise InternalError(f"{self._folder} has not reached {until}")

    def _copy(self) -> None:
        checkpoint.claim(self._folder, BUILDING)
        # An id of its own: objects named by the old one are deleted with the old checkpoint.
        checkpoint.write_file(self._folder, "metadata", {"id": str(uuid.uuid4())})
        try:
            for entry in entries(self._there):
                if entry.name in _COPIED:
                    location.copy_entry(entry, self._folder / entry.name)
        except OSError as error:
            raise ExternalError(f"cannot copy {self._there}: {error.strerror}") from error
        relocate(self._folder)

    def hand_over(self, generation: int) -> None:
        """Assign the checkpoint to that generation of the query, once that is logged."""
        checkpoint.hand_over(self._folder, generation)

    def discard(self) -> None:
        checkpoint.remove(self._folder)  # Nothing was written under its id.
