"""The last batch of a checkpoint in Spark's logs, and an additional one.

Each of the two logs has a file per batch: a version, a line of JSON, and in the offset log a line
per source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamsql.errors import ExternalError, InternalError
from streamsql.storage import location
from streamsql.storage.location import Location, entries

OPERATOR = "0"
"""The only operator with state, or the first."""
_WATERMARK = "nextBatchWatermarkMs"
_IDS = "stateUniqueIds"


@dataclass(frozen=True)
class Batch:
    """A committed batch."""

    number: int
    offsets: tuple[str, ...]
    """The lines of the offset log."""
    commit: tuple[str, ...]
    """Content of the commit log."""

    @property
    def metadata(self) -> str:
        """The offset log's metadata: settings, watermark, time."""
        return self.offsets[1]

    @property
    def state_ids(self) -> list[str] | None:
        """Committed ids of the single store of each partition; None if unknown, or with several
        stores."""
        found = self._committed.get(_IDS) or {}
        if set(found) != {OPERATOR} or any(len(stores) != 1 for stores in found[OPERATOR]):
            return None
        return [str(store) for (store,) in found[OPERATOR]]

    @property
    def _committed(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.commit[1])
        return content

    def followed_by(self, other: Batch, state_ids: Sequence[str]) -> Batch:
        """The next batch, with the other one's offsets and time, and this state. InternalError if
        they have different sources."""
        if _topics(self) != _topics(other):
            raise InternalError(f"the sources are {_topics(self)}, they were {_topics(other)}")
        was = json.loads(other.metadata)
        times = {name: was[name] for name in ("batchWatermarkMs", "batchTimestampMs")}
        metadata = json.dumps({**json.loads(self.metadata), **times})
        ids = {OPERATOR: [[each] for each in state_ids]}
        commit = {**self._committed, _WATERMARK: other._committed[_WATERMARK], _IDS: ids}
        return Batch(
            self.number + 1,
            (self.offsets[0], metadata, *other.offsets[2:]),
            (self.commit[0], json.dumps(commit)),
        )


def _topics(batch: Batch) -> list[list[str]]:
    return [sorted(json.loads(line)) for line in batch.offsets[2:]]


def last_batch(checkpoint: Location) -> Batch:
    """The newest committed batch. ExternalError if it is missing or unreadable."""
    numbers = [int(p.name) for p in entries(checkpoint / "commits") if p.name.isdigit()]
    if not numbers:
        raise ExternalError(f"no batch of {checkpoint} is committed")
    number = max(numbers)
    try:
        offsets, commit = (
            tuple((checkpoint / log / str(number)).read_text("utf-8").splitlines())
            for log in ("offsets", "commits")
        )
    except OSError as error:
        raise ExternalError(f"cannot read {checkpoint}: {error.strerror}") from error
    return Batch(number, offsets, commit)


def write_batch(checkpoint: Location, batch: Batch) -> None:
    """Writes it as the last batch. ExternalError on failure."""
    try:
        for log, lines in (("offsets", batch.offsets), ("commits", batch.commit)):
            location.write(checkpoint / log / str(batch.number), "\n".join(lines))
    except OSError as error:
        raise ExternalError(
            f"cannot write to the checkpoint {checkpoint}: {error.strerror}"
        ) from error
