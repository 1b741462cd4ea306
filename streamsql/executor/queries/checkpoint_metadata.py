"""The metadata of a checkpoint: the engine and the query that wrote it, and whether another can
continue from it.

A JSON file beside Spark's own, written before the query first runs, and by each version that
continues from it. It reveals state that the query would misread before anything is read. A
checkpoint without this file is of an earlier version, and is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from streamsql.errors import ExternalError, UnsupportedError
from streamsql.executor.frames.layouts import Columns, StoreLayout
from streamsql.executor.queries.checkpoint import has_commits, write_file
from streamsql.planner.plans.fingerprint import fingerprint
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.storage import location
from streamsql.storage.location import Location
from streamsql.version import VERSION

FORMAT = 1
"""The version of the file's format that this engine writes, and the latest that it reads."""
_FILE = "state.json"


@dataclass(frozen=True)
class CheckpointMetadata:
    """The content of the file."""

    engine: str
    """The version of streamsql."""
    spark: str
    plan: str
    """The plan's fingerprint."""
    sources: tuple[str, ...]
    """The topics that it reads. `sources/N/topic.json` maps source numbers to topics."""
    stores: tuple[StoreLayout, ...]

    @staticmethod
    def of(
        plan: QueryPlan, topics: Iterable[str], stores: tuple[StoreLayout, ...]
    ) -> CheckpointMetadata:
        """The metadata that this engine writes for a query."""
        sources = tuple(sorted(topics))
        return CheckpointMetadata(
            VERSION, version("pyspark"), fingerprint(plan.root), sources, stores
        )


def read(checkpoint: Location) -> CheckpointMetadata | None:
    """The metadata of a checkpoint that a query can continue from; None if nothing is committed, or
    an earlier version wrote it. UnsupportedError if a later version wrote it."""
    if not has_commits(checkpoint):
        return None
    path = checkpoint / _FILE
    if (found := location.read(path)) is None:
        return None
    try:
        content: Mapping[str, Any] = json.loads(found)
        later = int(content["format"]) > FORMAT
        if not later:
            return _decode(content)
    except (ValueError, KeyError, TypeError) as error:
        raise ExternalError(
            f"cannot read {path}, the metadata of the query's state: {error}"
        ) from error
    raise UnsupportedError(
        f"the checkpoint {checkpoint} was written by streamsql {content.get('engine')} in format "
        f"{content['format']}; this version reads formats up to {FORMAT}",
        hint=f"Start streamsql {content.get('engine')} or later again: the query continues.",
    )


def _decode(content: Mapping[str, Any]) -> CheckpointMetadata:
    stores = tuple(
        StoreLayout(
            store["kind"],
            store["operator"],
            _columns(store["key"]),
            _columns(store["columns"]),
            store["encoding"],
        )
        for store in content["stores"]
    )
    return CheckpointMetadata(
        content["engine"], content["spark"], content["plan"], tuple(content["sources"]), stores
    )


def _columns(found: list[list[str]]) -> Columns:
    return tuple((name, kind) for name, kind in found)


def settle(checkpoint: Location, now: CheckpointMetadata, was: CheckpointMetadata | None) -> None:
    """Record in a checkpoint that the query continues from it now; UnsupportedError if its state or
    its sources are incompatible."""
    if was is not None:
        for problem in _problems(was, now):
            raise UnsupportedError(
                f"the query cannot continue from the checkpoint {checkpoint}, which streamsql "
                f"{was.engine} on Spark {was.spark} wrote: {problem}",
                hint=f"Continue with streamsql {was.engine}; or DROP the query's stream or table "
                "and create it again: it then begins with empty state.",
            )
    if now != was:
        write_file(checkpoint, _FILE, {"format": FORMAT, **asdict(now)})


def _problems(was: CheckpointMetadata, now: CheckpointMetadata) -> Iterator[str]:
    """The differences between the existing state and the one that the query would read."""
    if was.sources != now.sources:
        yield f"it reads {', '.join(was.sources)}, not {', '.join(now.sources)}"
    for before, after in zip(was.stores, now.stores, strict=False):
        yield from _differences(before, after)
    more, count = max(was.stores, now.stores, key=len), min(len(was.stores), len(now.stores))
    for store in more[count:]:
        there = "has" if more is was.stores else "has no"
        yield f"it {there} state of {store.operator}"


def _differences(before: StoreLayout, after: StoreLayout) -> Iterator[str]:
    if before.kind != after.kind:
        yield f"it has state of {before.operator} ({before.kind}), not of {after.operator}"
        return
    if before.encoding != after.encoding:
        numbers = f"{before.encoding}, not {after.encoding}"
        yield f"the state of {before.operator} has the encoding {numbers}"
    for what, old, new in (
        ("key", before.key, after.key),
        ("row", before.columns, after.columns),
    ):
        for name, kind in old:
            if (name, kind) not in new:
                wanted = dict(new).get(name)
                instead = f"not {wanted}" if wanted else "which the query lacks"
                yield f"the {what} of {before.operator} has {name} {kind}, {instead}"
        for name, kind in new:
            if name not in dict(old):
                yield f"the {what} of {before.operator} lacks {name} {kind}"
        if old != new:
            yield f"the columns of the {what} of {before.operator} have another order"
