"""What Nexmark's benchmark shows of a query, and how it knows that one has caught up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from streamsql.engine import Engine, QueryState
from streamsql.kafka.client import KafkaClient

READS = {
    "q3": ("person", "auction"),
    "q4": ("auction", "bid"),
    "q8": ("person", "auction"),
    "q9": ("auction", "bid"),
    "q20": ("auction", "bid"),
    "q23": ("person", "auction", "bid"),
}
"""The events that a query reads, where it is not bids alone."""
NOT_THERE = {"q6": "OVER takes no rows that change, here as in Flink"}
NOTES = {
    ("q10", "streamsql"): "live: of the topic, the files are written every 10 seconds",
    ("q12", "flink"): "events_per_s: until the job's end, its windows close by the clock",
    ("q13", "flink"): "a join that keeps all bids: Flink looks nothing up in files",
    **{
        (query, "flink"): "a window is written once, when it closes, not with each change"
        for query in ("q5", "q7", "q8")
    },
}
_POLL_SECONDS = 0.1
_REST_SECONDS = 3.0
_FIRST_SECONDS = 30.0
"""Final results come only once all has been read."""


@dataclass(frozen=True)
class Row:
    """What one query showed in one engine; None is what was not measured, or has failed.

    `events` are those that the query reads, `results` the records that it wrote while catching up,
    `to_flink` compares the events of a core with Flink's; the rate is that which was sent."""

    query: str
    engine: str
    events: int
    results: int | None = None
    seconds: float | None = None
    events_per_s: float | None = None
    cpu_s: float | None = None
    events_per_core: float | None = None
    to_flink: float | None = None
    mode: str | None = None
    rate: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    live_results: int | None = None
    note: str | None = None
    error: str | None = None


class Failed(Exception):
    """Why there is no figure."""


@dataclass(frozen=True)
class Place:
    """A broker with the events, and where files are."""

    kafka: KafkaClient
    folder: Path
    events: Mapping[str, int]
    """How many there are of each kind."""

    def of(self, query: str, engine: str) -> Row:
        """What is known beforehand."""
        reads = READS.get(query, ("bid",))
        note = NOTES.get((query, engine))
        return Row(query, engine, sum(self.events[kind] for kind in reads), note=note)

    def files(self, name: str) -> int:
        """Bytes of a folder's files that are complete."""
        folder = self.folder / name
        found = [path for path in folder.rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in found if not _hidden(path.relative_to(folder)))


def _hidden(path: Path) -> bool:
    """What readers of a folder leave out."""
    return any(part.startswith((".", "_")) for part in path.parts)


def settled(engine: Engine) -> bool:
    """Whether all queries have processed the present records; Failed if one has failed."""
    queries = [query for query in engine.queries() if query.kind == "PERSISTENT"]
    for query in queries:
        if query.state is QueryState.ERROR:
            raise Failed(query.error)
    return all(query.state is QueryState.RUNNING and query.lag == 0 for query in queries)


def watch(
    begin: float,
    written: Callable[[], tuple[int, ...]],
    cpu: Callable[[], float],
    done: Callable[[], bool],
    limit: float,
) -> dict[str, float]:
    """The seconds and the CPU seconds until the last change of what is written, whose first number
    is that of results; `done` says that no more is to come, but for what is on its way."""
    last, cpu_begin, seen = begin, cpu(), written()
    cpu_last, done_at = cpu_begin, None
    while True:
        now, found = time.monotonic(), written()
        if found != seen:
            seen, last, cpu_last = found, now, cpu()
        elif done():
            done_at = done_at or now
            if now - max(last, done_at) > (_FIRST_SECONDS if last == begin else _REST_SECONDS):
                break
        if now - begin > limit:
            raise Failed(f"not done within {limit:.0f} s: {seen[0]} results so far")
        time.sleep(_POLL_SECONDS)
    if last == begin:
        raise Failed("no results")
    return {"results": seen[0], "seconds": last - begin, "cpu_s": cpu_last - cpu_begin}


def caught_up(row: Row, found: Mapping[str, float], flink: float | None = None) -> Row:
    per_core = row.events / found["cpu_s"]
    return replace(
        row,
        results=int(found["results"]),
        seconds=found["seconds"],
        events_per_s=row.events / found["seconds"],
        cpu_s=found["cpu_s"],
        events_per_core=per_core,
        to_flink=per_core / flink if flink else None,
    )


def failed(row: Row, error: Exception | str) -> Row:
    """With what is known by now."""
    return replace(row, error=" ".join(str(error).split()))
