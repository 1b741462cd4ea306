"""Twenty pipelines over topics that all change, each alone and then all of them at once.

Of each: the modes that it ran in, the largest lag, the latency from the newest record behind a
result to the result in Kafka, and the processor time of the engine with its JVM (the broker, the
sender and the receiver apart). A run outlasts every timer of the engine, a commit included; which
records over 50 ms were sent around a commit, or while the JVM still compiles, is shown apart. With
`--starve` the engine has little of the machine for a while, and the row says when a shape leaves
real time and when it is back. Run it on an idle machine: `python -m benchmarks.live`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

import psutil

from benchmarks.common import PARTITIONS, show_table
from benchmarks.latency import Place, place
from benchmarks.shapes import SHAPES, SOURCES, TOPICS, Shape, event
from benchmarks.traffic import Receiver, Sender, by_timestamp
from streamsql.data_folder import DataDir
from streamsql.engine import QueryInfo, QueryState
from streamsql.planner.plans.query_plan import Mode
from streamsql.waiting import await_condition

_START_SECONDS = 120.0
_LOOK_SECONDS = 1.0
_LAST_SECOND = 1.0
MOST_LAG_SECONDS, MOST_P99_MS, MOST_CORES = 1.0, 50.0, 1.0
_BACK_SECONDS = 180.0
_CURRENT_SECONDS, _RECEIVER_SECONDS = 0.2, 1.0
_LINGER_MS = 5
"""What Kafka's producers have by default."""
_FIRST_SECONDS = 30.0
_COMMIT_SECONDS = 1.5, 0.5
"""How long before and after a commit records may wait for the next batch."""
_LOAD_SECONDS = 45.0
"""Of load before the first query: a broker just started delays records by seconds."""


@dataclass(frozen=True)
class Row:
    """What one shape showed; `rate` is that of each topic. `start_s` is from CREATE until the query
    has caught up with the `history` records that its topics held; all others are of the time after
    it. `lag` is the largest, and `lag_s` in seconds of the records that its topics get."""

    shape: str
    rate: int
    seconds: float
    load: float
    history: int
    start_s: float
    modes: str
    lag: int
    lag_s: float
    last_lag: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    worst_at: int | None
    """The second of the worst latency, from the begin of the measurement."""
    stalled_s: int | None
    """Seconds with a latency over STALL_MS."""
    late_percent: float | None
    """Of the records, those that took over 50 ms."""
    late_first: float | None
    """Those of them that were sent in the first half minute."""
    late_commits: float | None
    """Those of them that were sent around a commit."""
    cores: float


class Sample:
    """The mode and the lag of a query, once a second."""

    def __init__(self) -> None:
        self.modes: list[str] = []
        self.lags: list[int] = []

    def take(self, info: QueryInfo) -> None:
        if info.state is QueryState.ERROR:
            raise SystemExit(f"{info.id} has failed: {info.error}")
        self.modes.append(info.mode)
        if info.lag is not None:
            self.lags.append(info.lag)


def infos(place: Place) -> dict[str, QueryInfo]:
    """The persistent queries by their sinks."""
    return {
        (info.sink or "").upper(): info
        for info in place.engine.queries()
        if info.kind == "PERSISTENT"
    }


def create(place: Place, shape: Shape) -> str:
    """The sink of a new query, once the query is RUNNING."""
    sink = f"S_{uuid.uuid4().hex[:8]}".upper()
    guarantee = "exactly_once" if shape.exactly_once else "at_least_once"
    place.run(f"SET 'processing.guarantee'='{guarantee}'; {shape.sql.format(sink=sink)}")
    return sink


def await_current(place: Place, sinks: Mapping[str, str], rate: int) -> None:
    """Waits until each query, by its shape, runs in its planned mode with a small lag."""

    def current(shape: Shape, info: QueryInfo) -> bool:
        if info.state is not QueryState.RUNNING or info.lag is None:
            return False
        small = rate * len(shape.topics) * _CURRENT_SECONDS
        return not shape.real_time or (info.mode == Mode.REAL_TIME.value and info.lag <= small)

    def all_current() -> bool:
        found = infos(place)
        return all(current(SHAPES[name], found[sink]) for name, sink in sinks.items())

    if not await_condition(all_current, _START_SECONDS):
        raise SystemExit(f"not current in time: {infos(place)}")


def measure(
    place: Place, names: Sequence[str], rate: int, seconds: float, sender: Sender
) -> list[Row]:
    """These shapes at once, from when all of them have caught up."""
    load, created = os.getloadavg()[0], time.time()
    history = {topic: sum(place.kafka.end_offsets(topic).values()) for topic in TOPICS}
    sinks = {name: create(place, SHAPES[name]) for name in names}
    receivers = {
        name: Receiver(
            place.kafka.bootstrap, [sink], _partitions(place, sink), "read_committed", by_timestamp
        )
        for name, sink in sinks.items()
        if not SHAPES[name].delays
    }
    await_current(place, sinks, rate)
    start = time.time() - created
    for name, receiver in receivers.items():
        if receiver.first_row(_START_SECONDS) is None:
            raise SystemExit(f"{name}: no result arrived")
        if not await_condition(
            functools.partial(receiver.is_current, _RECEIVER_SECONDS), _START_SECONDS
        ):
            raise SystemExit(f"{name}: the receiver is behind")
    begin = time.time()
    for receiver in receivers.values():
        receiver.begin(begin)
    others = {sender.process.pid or 0, *(r.process.pid or 0 for r in receivers.values())}
    samples = {name: Sample() for name in names}
    cpu = place.cpu(others)
    while time.time() < begin + seconds:
        time.sleep(_LOOK_SECONDS)
        found = infos(place)
        for name, sink in sinks.items():
            samples[name].take(found[sink])
    cores = (place.cpu(others) - cpu) / (time.time() - begin)
    end = time.time()
    time.sleep(_LAST_SECOND)
    rows = []
    for name in names:
        taken = receivers[name].end(end) if name in receivers else None
        commits = around_commits(place, sinks[name])
        lag = max(samples[name].lags, default=0)
        rows.append(
            Row(
                shape=name,
                rate=rate,
                seconds=seconds,
                load=load,
                history=sum(history[topic] for topic in SHAPES[name].topics),
                start_s=start,
                modes=" / ".join(dict.fromkeys(samples[name].modes)),
                lag=lag,
                lag_s=lag / (rate * len(SHAPES[name].topics)),
                last_lag=samples[name].lags[-1],
                p50_ms=taken.percentile(50) if taken else None,
                p99_ms=taken.percentile(99) if taken else None,
                max_ms=taken.max_ms if taken else None,
                worst_at=taken.worst_second if taken else None,
                stalled_s=taken.stalled_seconds if taken else None,
                late_percent=taken.late_percent([(begin, end)]) if taken else None,
                late_first=(
                    taken.late_percent([(begin, begin + _FIRST_SECONDS)]) if taken else None
                ),
                late_commits=taken.late_percent(commits) if taken else None,
                cores=cores,
            )
        )
    for sink in sinks.values():
        drop(place, sink)
    return rows


def around_commits(place: Place, sink: str) -> list[tuple[float, float]]:
    """The times around the commits that a query's checkpoint has."""
    folder = DataDir.at(place.folder).own_checkpoints / infos(place)[sink].id / "commits"
    before, after = _COMMIT_SECONDS
    times = [file.stat().st_mtime for file in folder.glob("[0-9]*")]
    return [(at - before, at + after) for at in times]


def starve(
    place: Place, name: str, rate: int, seconds: float, spinners: int, sender: Sender
) -> dict[str, object]:
    """One shape whose JVM shares one core with that many processes for that many seconds. `left_s`
    is from the begin of that time, `back_s` from its end; `behind` is the largest lag that was
    known, None if none was; `cores` is what the engine takes from the end until it is back,
    catching up included."""
    sink = create(place, SHAPES[name])
    await_current(place, {name: sink}, rate)
    sample = Sample()
    left: float | None = None
    with crowded(place.jvm(), spinners):
        began = time.time()
        while time.time() < began + seconds:
            time.sleep(_LOOK_SECONDS)
            sample.take(infos(place)[sink])
            if left is None and sample.modes[-1] == Mode.MICRO_BATCH.value:
                left = time.time() - began
    others = {sender.process.pid or 0}
    ended, cpu = time.time(), place.cpu(others)
    back: float | None = None
    while time.time() < ended + _BACK_SECONDS and back is None:
        time.sleep(_LOOK_SECONDS)
        if infos(place)[sink].mode == Mode.REAL_TIME.value:
            back = time.time() - ended
    cores = (place.cpu(others) - cpu) / (time.time() - ended)
    lag = infos(place)[sink].lag
    drop(place, sink)
    return {
        "shape": name,
        "left_s": left,
        "behind": max(sample.lags, default=None),
        "back_s": back if left is not None else None,
        "cores": cores,
        "lag": lag,
    }


@contextmanager
def crowded(jvm: psutil.Process, spinners: int) -> Iterator[None]:
    """The threads of the JVM share one core with that many processes that only compute."""
    cores = os.sched_getaffinity(0)
    core = max(cores)
    program = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(spinners)]
    try:
        _pin(jvm, {core})
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
        _pin(jvm, cores)


def _pin(jvm: psutil.Process, cores: set[int]) -> None:
    for thread in jvm.threads():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(thread.id, cores)


def _partitions(place: Place, sink: str) -> int:
    return len(place.kafka.end_offsets(sink))


def drop(place: Place, sink: str) -> None:
    place.run(f"TERMINATE {infos(place)[sink].id};")
    kind = place.engine.catalog().sources[sink].kind.value
    place.run(f"DROP {kind} {sink} DELETE TOPIC;")


def faults(row: Row) -> list[str]:
    """What a row misses: its planned mode throughout, a lag below a second of records, and in real
    time a p99 of at most 50 ms and one core."""
    wanted = Mode.REAL_TIME if SHAPES[row.shape].real_time else Mode.MICRO_BATCH
    found = [f"it ran in {row.modes}"] if row.modes != wanted.value else []
    if row.lag_s > MOST_LAG_SECONDS and wanted is Mode.REAL_TIME:
        found.append(f"its lag was {row.lag_s:.1f} s of records")
    if row.p99_ms is not None and row.p99_ms > MOST_P99_MS:
        found.append(f"its p99 was {row.p99_ms:.0f} ms")
    if row.cores > MOST_CORES:
        found.append(f"it took {row.cores:.2f} cores")
    return [f"{row.shape}: {fault}" for fault in found]


def show(rows: Sequence[Row], as_json: bool) -> None:
    if as_json:
        for row in rows:
            print(json.dumps(asdict(row)), flush=True)
    else:
        show_table([asdict(row) for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=90, help="measured of each shape")
    parser.add_argument("--rate", type=int, default=500, help="records a second of each topic")
    parser.add_argument("--shape", choices=[*SHAPES], action="append", help="default: all")
    parser.add_argument("--at-once", action="store_true", help="all shapes together, in one run")
    parser.add_argument(
        "--starve", type=float, help="seconds in which the engine's JVM has little of the machine"
    )
    parser.add_argument(
        "--spinners", type=int, default=64, help="processes on the JVM's core, with --starve"
    )
    parser.add_argument("--idle", type=float, default=0, help="seconds before the first query")
    parser.add_argument("--check", action="store_true", help="fail where a shape misses its goal")
    parser.add_argument("--json", action="store_true", help="one JSON object a shape")
    parser.add_argument("--bootstrap-servers", help="a Kafka cluster instead of an own broker")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    names = options.shape or [*SHAPES]
    with place(options) as found:
        for topic in TOPICS:
            found.kafka.create_topic(topic, PARTITIONS)
        found.run(SOURCES)
        rate = options.rate * len(TOPICS)
        sender = Sender(found.kafka.bootstrap, TOPICS, rate, event, _LINGER_MS)
        time.sleep(_LOAD_SECONDS)
        missed: list[str] = []
        if options.starve:
            how = (options.rate, options.starve, options.spinners, sender)
            show_table([starve(found, name, *how) for name in names])
        else:
            for group in [names] if options.at_once else [[name] for name in names]:
                rows = measure(found, group, options.rate, options.seconds, sender)
                show(rows, options.json)
                missed += [fault for row in rows for fault in faults(row)]
        sender.stop()
    if options.check and missed:
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    main()
