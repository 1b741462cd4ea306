"""Reads from a query's checkpoint how far it has come, without Spark.

Spark writes a file per batch into `offsets` before and into `commits` after it has run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Container
from pathlib import Path

from streamsql.errors import ExternalError

Positions = dict[str, dict[int, int]]
"""Per topic and partition the offset of the next record to process."""


def committed(checkpoint: Path) -> Positions | None:
    """What the last committed batch has reached; None before the first commit."""
    done = _numbers(checkpoint / "commits")
    for number in sorted(done, reverse=True):
        path = checkpoint / "offsets" / str(number)
        try:
            return parse_offsets(path.read_text("utf-8"))
        except OSError:
            # Pruned, or not yet written: an older one is still a lower bound.
            continue
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


def merge(positions: Positions, source: dict[str, object]) -> None:
    """Add a Kafka source's `{topic: {partition: offset}}`; anything else in it is left out.

    Two sources may read the same topic: the slower one counts.
    """
    for topic, partitions in source.items():
        if not isinstance(partitions, dict):
            continue
        for partition, offset in partitions.items():
            if isinstance(offset, int) and str(partition).isdigit():
                known, number = positions.setdefault(topic, {}), int(partition)
                known[number] = min(known.get(number, offset), offset)


def remove(checkpoint: Path) -> None:
    """Delete a checkpoint; does nothing if there is none."""
    try:
        shutil.rmtree(checkpoint)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ExternalError(
            f"cannot delete the checkpoint {checkpoint}: {error.strerror}"
        ) from error


def remove_others(folder: Path, keep: Container[str]) -> None:
    """Delete all checkpoints in a folder but those of these names."""
    for found in _entries(folder):
        if found.name not in keep:
            remove(found)


def remove_torn_commits(checkpoint: Path) -> None:
    """Delete what a kill in the middle of a commit leaves behind.

    Such files mean nothing, but before the first commit Spark takes them for another query's and
    never starts this one again.
    """
    for torn in (checkpoint / "commits").glob(".*.tmp*"):
        torn.unlink(missing_ok=True)


def remove_uncommitted_state(checkpoint: Path) -> None:
    """Delete the state that a first batch has left behind when it was stopped before its commit.

    Spark runs that batch again, and refuses to if there is state already.
    """
    if not _numbers(checkpoint / "commits"):
        remove(checkpoint / "state")


def _numbers(folder: Path) -> list[int]:
    return [int(p.name) for p in _entries(folder) if p.name.isdigit()]


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
