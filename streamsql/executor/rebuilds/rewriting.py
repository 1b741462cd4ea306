"""A query's new checkpoint, made from the state of its present one instead of the log.

The new query's groups are part of the old one's, or are in other partitions. Before the old query
stops, an empty batch creates the new checkpoint, with empty stores; after it has stopped, the
stores are filled, and a second batch records that, and the old query's position. The old checkpoint
is only read, so the migration can be repeated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamsql.errors import InternalError
from streamsql.executor.frames.layouts import PACKED
from streamsql.executor.queries import checkpoint, checkpoint_metadata
from streamsql.executor.queries.checkpoint import BUILDING
from streamsql.executor.queries.checkpoint_metadata import CheckpointMetadata
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.rebuilds.batches import last_batch, write_batch
from streamsql.executor.services.services import Services
from streamsql.kafka.positions import Positions
from streamsql.log.entries import Offsets
from streamsql.properties import SHUFFLE_PARTITIONS
from streamsql.storage import location
from streamsql.storage.location import Location

if TYPE_CHECKING:
    from streamsql.executor.spark.rebuilds import GroupLayout


class StateNotKeptError(Exception):
    """The state of a query cannot be migrated, for a reason that only its checkpoint reveals."""

    def __init__(self, query_id: str, reason: str) -> None:
        super().__init__(reason)
        self.query_id = query_id


def check_committed(query: Definition, folder: Location) -> None:
    """StateNotKeptError for a query that has never committed, since its topics were empty."""
    if not checkpoint.has_commits(folder):
        raise StateNotKeptError(query.id, "it has no state yet")


class KeptState:
    """Common part of state migrations. Not thread-safe."""

    topic: str | None = None
    """Its output is not visible before the switch."""

    def __init__(
        self,
        definition: Definition,
        old: Definition,
        launcher: SparkLauncher,
        services: Services,
        checkpoints: Location,
    ) -> None:
        """`definition` is the new definition, `old` the running query."""
        self.definition = definition
        self.old = old
        self._launcher = launcher
        self._services = services
        self._there = checkpoints / old.id
        self._folder = checkpoint.rebuilt(self._there)

    def catch_up(self) -> None: ...

    def hold(self) -> None:
        """It reads nothing."""

    def is_beyond(self, reached: Positions) -> bool:
        """Whether it has read beyond these offsets: never."""
        return False


class Rewrite(KeptState):
    """Migrates Spark's own aggregation state: removed or reordered values of a group."""

    _layouts: tuple[GroupLayout, GroupLayout] | None = None
    _filled = False

    def begin(self) -> None:
        """Create the new checkpoint, without state. StateNotKeptError if the existing state cannot
        be migrated; ExternalError if Spark or the disk fails."""
        self.discard()
        there = checkpoint_metadata.read(self._there)
        # A checkpoint without commits was created by this version.
        if checkpoint.has_commits(self._there) and not _is_packed(there):
            raise StateNotKeptError(self.old.id, "an earlier version created it")
        at = self._launcher.positions(self.old)
        same = self.old.plan.root == self.definition.plan.root
        if not same:
            old = self._laid_out(self.old, at)
            self._check_schema()
            self.discard()
        new = self._laid_out(self.definition, at)
        if same:
            old = new
            self._check_schema()
        obstacle = new.obstacle_from(old)
        if obstacle is not None:
            raise StateNotKeptError(self.old.id, obstacle)
        self._layouts = old, new
        self._filled = False

    def finish(self, until: Positions) -> None:
        """Completes the migration at the old query's position. StateNotKeptError if its state is
        missing, ExternalError on failure."""
        from streamsql.executor.rebuilds.muted import rewrite
        from streamsql.executor.spark.rebuilds import GroupStores

        if self._filled:  # after a failed switch
            self.begin()
        assert self._layouts is not None
        check_committed(self.old, self._there)
        if checkpoint.is_torn(self._there):
            raise InternalError(f"{self._there} has an uncommitted batch")
        was, empty = last_batch(self._there), last_batch(self._folder)
        stores = []
        for folder, batch, layout in zip(
            (self._there, self._folder), (was, empty), self._layouts, strict=True
        ):
            ids = batch.state_ids
            if ids is None:
                raise InternalError(f"the last batch of {folder} does not name its state")
            version = batch.number + 1
            stores.append(GroupStores(str(folder), batch.metadata, version, ids, layout))
        old, new = stores
        self._filled = True
        made = rewrite(old, new, self._services)
        write_batch(self._folder, empty.followed_by(was, made))
        if checkpoint.committed(self._folder) != until:
            raise InternalError(f"{self._folder} has not reached {until}")

    def hand_over(self, generation: int) -> None:
        """Assign the checkpoint to that generation of the query, once that is logged."""
        checkpoint.hand_over(self._folder, generation)
        self._launcher.jvm.forget(self._folder.name)

    def discard(self) -> None:
        checkpoint.remove(self._folder)  # It has written nothing outside the checkpoint.
        self._launcher.jvm.forget(self._folder.name)

    def _laid_out(self, definition: Definition, at: Positions) -> GroupLayout:
        """The layout of a query's state: an empty batch of it creates the folder."""
        from streamsql.executor.rebuilds.muted import laid_out, read_until

        name = self._folder.name
        own = replace(
            definition,
            id=name,
            plan=replace(definition.plan, query_id=name),
            generation=BUILDING,
            properties=self._properties(definition),
            starting_offsets=self._offsets(definition, at),
        )
        read_until(name, at, self._services)
        try:
            return laid_out(own, self._launcher)
        except ValueError as error:
            raise StateNotKeptError(self.old.id, str(error)) from error
        finally:
            read_until(name, None, self._services)

    def _properties(self, definition: Definition) -> dict[str, str]:
        """With the state's number of partitions, unless another one is requested."""
        from streamsql.executor.queries.start import checkpointed_shuffle_partitions

        properties = dict(definition.properties)
        told = definition.plan.partitions not in (None, self.old.plan.partitions)
        number = checkpointed_shuffle_partitions(self._there)
        if number is not None and not told:
            properties[SHUFFLE_PARTITIONS] = str(number)
        return properties

    def _offsets(self, definition: Definition, at: Positions) -> Offsets:
        """Offsets of all partitions, including those added since the commit."""
        begins = self._services.kafka.get().begin_offsets
        return {
            topic: {str(p): at.get(topic, {}).get(p, first) for p, first in begins(topic).items()}
            for topic in definition.topics
        }

    def _check_schema(self) -> None:
        """Raises StateNotKeptError if Spark's names in the state differ from those of the text, so
        that their equality is unknown."""
        there, now = map(_schema, (self._there, self._folder))
        if (was := location.read(there)) is not None and was != location.read(now):
            raise StateNotKeptError(self.old.id, "Spark stores it differently now")


def _is_packed(there: CheckpointMetadata | None) -> bool:
    return there is not None and [store.encoding for store in there.stores] == [PACKED]


def _schema(folder: Location) -> Location:
    """Spark's file of a store's types, if the first batch wrote it."""
    return folder / "state" / "0" / "0" / "_metadata" / "schema"
