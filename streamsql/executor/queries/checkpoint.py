"""A query's checkpoint: its position and its owner; without Spark.

Every function raises ExternalError if a file or folder cannot be read: only a file that certainly
does not exist counts as missing.

Spark writes a file per batch into `offsets` before and into `commits` after it has run. A file of
streamsql's names the generation of the query, as ids may be used again; another one lists the
query's statements: records read after the last commit of one are read again by the next.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from streamsql.errors import ExternalError
from streamsql.kafka.positions import Positions, merge
from streamsql.storage import location
from streamsql.storage.location import Location, entries
from streamsql.storage.store import Kept

T = TypeVar("T")

_log = logging.getLogger("streamsql.queries")
_log.addHandler(logging.NullHandler())
_OWNER = "streamsql.json"
_GONE = ".gone-"
_STATEMENTS = "statements.json"
_REBUILT = ".rebuilt"
_REBUILD = "rebuild.json"
BUILDING = -1
"""The generation of a checkpoint under construction, which belongs to no query."""
_NOBODY = -2
"""The generation of a checkpoint that is being deleted in several steps."""
_KEPT = Kept(_OWNER, json.dumps({"generation": _NOBODY}), ("metadata", _REBUILD))
_MOST_STATEMENTS = 100
"""The number of remembered statements, which lasts longer than the processing log."""


def committed(checkpoint: Location) -> Positions | None:
    """The offsets of the last committed batch; None before the first commit."""
    done = _numbers(checkpoint / "commits")
    for number in sorted(done, reverse=True):
        found = location.read(checkpoint / "offsets" / str(number))
        # Pruned, or not yet written: an older one is still a lower bound.
        if found is not None:
            return parse_offsets(found.decode())
    return None


def parse_offsets(text: str) -> Positions:
    """The offsets in a file of the offset log: a line of JSON per Kafka source."""
    positions: Positions = {}
    for line in text.splitlines()[1:]:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict):
            merge(positions, content)
    return positions


def claim(checkpoint: Location, generation: int) -> None:
    """Assign a checkpoint to a generation of its query; that of another generation is discarded.

    A checkpoint without a generation is of an earlier version, and is taken over. ExternalError if
    a file cannot be written or deleted.
    """
    owner = _generation(checkpoint)
    if owner == generation:
        return
    if owner is not None:
        discard(checkpoint)
    write_file(checkpoint, _OWNER, {"generation": generation})


def write_file(checkpoint: Location, name: str, content: object) -> None:
    """Atomically replace a JSON file of the checkpoint. ExternalError if it cannot be written."""
    try:
        location.write(checkpoint / name, json.dumps(content))
    except OSError as error:
        raise ExternalError(
            f"cannot write to the checkpoint {checkpoint}: {error.strerror}"
        ) from error


def remove(checkpoint: Location) -> None:
    """Delete a checkpoint that has nothing outside its folder; does nothing if there is none."""
    gone = discard(checkpoint)
    if gone is not None:
        erase(gone)


def discard(checkpoint: Location) -> Location | None:
    """Atomically retire a checkpoint; returns the remains to `erase`, or None.

    Remains keep their id, so that what they have outside the folder can be deleted after a crash.
    """
    gone = checkpoint.with_name(f"{_GONE}{checkpoint.name}-{uuid.uuid4().hex[:8]}")
    try:
        return gone if location.set_aside(checkpoint, gone, _KEPT) else None
    except OSError as error:
        raise _not_deleted(checkpoint, error) from error


def discarded(folder: Location) -> list[Location]:
    """The remains in a folder of retired checkpoints."""
    return [found for found in entries(folder) if found.name.startswith(_GONE)]


def erase(gone: Location) -> None:
    """Delete remains; a concurrent deletion is no error."""
    try:
        location.delete_folder(gone)
    except OSError as error:
        raise _not_deleted(gone, error) from error


def discard_others(folder: Location, keep: Mapping[str, int], spare: Container[str] = ()) -> None:
    """Discard all checkpoints in a folder except those of these queries with the right generation,
    those with a name to spare, and those whose generation cannot be read."""
    for found in entries(folder):
        if found.name in spare or found.name.startswith(_GONE):
            continue
        query_id = found.name.removesuffix(_REBUILT)
        if query_id in keep:
            unnamed = (None,) if query_id == found.name else ()
            try:
                if _generation(found) in (keep[query_id], *unnamed):
                    continue
            except ExternalError as error:
                _log.warning("the checkpoint %s is kept: %s", found, error.message)
                continue
        discard(found)


def id_of(checkpoint: Location) -> str | None:
    """Spark's unique id of a checkpoint or of its remains. None before its query's first start."""
    return _read_json(checkpoint / "metadata", lambda found: str(found["id"]))


def _read_json(file: Location, parse: Callable[[Any], T]) -> T | None:
    """The parsed content of a file; None if it does not exist. ExternalError if it cannot be read
    or is damaged."""
    content = location.read(file)
    if content is None:
        return None
    try:
        return parse(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExternalError(
            f"cannot read {file}: it is damaged ({error})",
            hint="Restore the file from a backup of the checkpoints.",
        ) from error


def _not_deleted(checkpoint: Location, error: OSError) -> ExternalError:
    return ExternalError(f"cannot delete the checkpoint {checkpoint}: {error.strerror}")


def _generation(checkpoint: Location) -> int | None:
    return _read_json(checkpoint / _OWNER, lambda found: int(found["generation"]))


def has_commits(checkpoint: Location) -> bool:
    """Whether a batch has ever been committed: then there may be state."""
    return bool(_numbers(checkpoint / "commits"))


def begun(checkpoint: Location) -> Positions:
    """The target offsets of the newest micro-batch, committed or not."""
    number = max(_numbers(checkpoint / "offsets"), default=None)
    if number is None:
        return {}
    found = location.read(path := checkpoint / "offsets" / str(number))
    if found is None:
        raise ExternalError(f"cannot read {path}: it has just been removed", retryable=True)
    return parse_offsets(found.decode())


def is_torn(checkpoint: Location) -> bool:
    """Whether a batch was begun and not committed."""
    begun, done = _numbers(checkpoint / "offsets"), _numbers(checkpoint / "commits")
    return max(begun, default=-1) > max(done, default=-1)


def remove_torn_files(checkpoint: Location) -> None:
    """Delete leftovers of a kill during the begin or the commit of a batch.

    Before the first commit Spark takes such files for another query's and never starts this one
    again.
    """
    for folder in ("offsets", "commits"):
        for found in entries(checkpoint / folder):
            if found.name.startswith(".") and ".tmp" in found.name:
                location.delete(found)


def remove_uncommitted_state(checkpoint: Location) -> None:
    """Delete the state of a first batch that was stopped before its commit.

    Spark repeats that batch, and refuses to if there is state already.
    """
    if not has_commits(checkpoint):
        erase(checkpoint / "state")


def forget_uncommitted(checkpoint: Location) -> None:
    """Let the next batch choose its end instead of repeating the failed one. Not for exactly-once
    delivery, which needs the same batch again. ExternalError if a file cannot be deleted."""
    last = max(_numbers(checkpoint / "commits"), default=-1)
    try:
        for batch in _numbers(checkpoint / "offsets"):
            if batch > last:
                location.delete(checkpoint / "offsets" / f".{batch}.crc")
                location.delete(checkpoint / "offsets" / str(batch))
    except OSError as error:
        raise _not_deleted(checkpoint, error) from error


def _numbers(folder: Location) -> list[int]:
    return [int(p.name) for p in entries(folder) if p.name.isdigit()]


# -- rebuilt -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RebuildNote:
    """The remaining work for a rebuilt checkpoint before its query runs on it."""

    topic: str | None
    """The topic with the results so far of a query that fills a table."""
    settled: bool = False
    """Whether the table's own topic has them, too."""


def rebuilt(checkpoint: Location) -> Location:
    """The folder in which a query's checkpoint is rebuilt, beside its current one."""
    return checkpoint.with_name(checkpoint.name + _REBUILT)


def hand_over(building: Location, generation: int) -> None:
    """Assign a rebuilt checkpoint to a generation of its query. ExternalError if a file cannot be
    written."""
    write_file(building, _OWNER, {"generation": generation})


def adopt(checkpoint: Location, generation: int) -> None:
    """Replace the previous checkpoint by the one rebuilt for this generation, if there is one.
    ExternalError if a folder cannot be renamed."""
    new = rebuilt(checkpoint)
    if _generation(new) != generation:
        return
    if _generation(checkpoint) == generation:
        # In an object store: a crash after everything was copied and before the rest was deleted.
        location.let_go(new, _KEPT)
        return
    try:
        if _generation(checkpoint) is None and id_of(checkpoint) in (None, id_of(new)):
            location.delete_folder(checkpoint)
        else:
            discard(checkpoint)
        location.put_in_place(new, checkpoint, _KEPT)
    except OSError as error:
        raise ExternalError(f"cannot rename {new}: {error.strerror}") from error


def rebuild_note(checkpoint: Location) -> RebuildNote | None:
    """The remaining work; None: none. The query must not run if it cannot be read."""
    return _read_json(
        checkpoint / _REBUILD, lambda found: RebuildNote(found["topic"], found["settled"])
    )


def is_settled(checkpoint: Location, generation: int) -> bool:
    """Whether it belongs to this generation of its query, with no remaining work."""
    return _generation(checkpoint) == generation and not location.exists(checkpoint / _REBUILD)


def note_rebuild(checkpoint: Location, note: RebuildNote | None) -> None:
    """Record the remaining work; None: none. ExternalError if it cannot be written."""
    if note is None:
        location.delete(checkpoint / _REBUILD)
    else:
        write_file(checkpoint, _REBUILD, {"topic": note.topic, "settled": note.settled})


# -- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Takeover:
    """The start time of a query's statement, in ms, and the offsets committed by then."""

    statement: str
    """Its hash."""
    time: int
    positions: Positions

    def reads_again(self, topic: str, partition: int, offset: int, time: int) -> bool:
        """Whether a record that was read before, at that time, was read again."""
        return time < self.time and offset >= self.positions.get(topic, {}).get(partition, 0)


def take_over(checkpoint: Location, generation: int, sql: str) -> None:
    """Assign a checkpoint to a generation of its query, which is about to run by a statement.
    ExternalError if a file cannot be written or deleted."""
    claim(checkpoint, generation)
    statement = hashlib.sha256(sql.encode()).hexdigest()
    known = takeovers(checkpoint)
    if known and known[-1].statement == statement:
        return
    now = time.time_ns() // 1_000_000
    known = [*known, Takeover(statement, now, committed(checkpoint) or {})][-_MOST_STATEMENTS:]
    found = [{"statement": t.statement, "time": t.time, "positions": t.positions} for t in known]
    write_file(checkpoint, _STATEMENTS, {"statements": found})


def takeovers(checkpoint: Location) -> list[Takeover]:
    """The known takeovers, in order; none for a checkpoint without any."""
    return _read_json(checkpoint / _STATEMENTS, _takeovers) or []


def _takeovers(found: Any) -> list[Takeover]:
    return [
        Takeover(t["statement"], t["time"], _positions(t["positions"])) for t in found["statements"]
    ]


def _positions(found: dict[str, dict[str, int]]) -> Positions:
    return {t: {int(p): offset for p, offset in ps.items()} for t, ps in found.items()}
