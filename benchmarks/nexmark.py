"""Nexmark's queries (examples/nexmark): catching up, and live; Flink SQL beside them where it is.

Catching up is from the statement to the last result over the same events in Kafka, which all
queries share; CPU seconds are those of the engine's processes until then, and a core's events are
events by CPU seconds. Live, a query is created over new topics into which events of now flow, and
measured from the moment when it is RUNNING: a result's latency is that of the newest event that it
is of, by ROWTIME, until it has been received. All queries run one after the other in one engine
(and before that in one Flink), so the first has a cold JVM. Run it on an idle machine:
`python -m benchmarks.nexmark --flink-jars FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.common import PARTITIONS, show_table
from benchmarks.flink.cluster import Flink, FlinkError
from benchmarks.flink.queries import QUERIES as FLINK_QUERIES
from benchmarks.flink.queries import script as flink_script
from benchmarks.nexmark_events import LiveEvents, fill, make_topics
from benchmarks.nexmark_rows import (
    NOT_THERE,
    Failed,
    Place,
    Row,
    caught_up,
    failed,
    settled,
    watch,
)
from benchmarks.traffic import Receiver, by_timestamp
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, QueryState
from streamsql.errors import StreamSQLError
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.waiting import await_condition

FOLDER = Path(__file__).parents[1] / "examples" / "nexmark"
SIDE_ROWS = 10_000
_PAST = "nexmark"
_CREATED = re.compile(r"^CREATE (STREAM|TABLE|SOURCE TABLE|SINK) (\w+)", re.MULTILINE)
_START_SECONDS = 240.0
_LAST_SECOND = 1.0
"""What is sent after the end, so that what was sent before it is known to have come."""


def all_queries() -> list[str]:
    """In the order of their numbers."""
    found = {path.stem for path in FOLDER.glob("*.sql")} - {"sources", "views"} | NOT_THERE.keys()
    return sorted(found, key=lambda name: (name.rstrip("0123456789") != "q", len(name), name))


# -- Flink ---------------------------------------------------------------------------------------


def in_flink(place: Place, flink: Flink, name: str, limit: float) -> Row:
    query, sink = FLINK_QUERIES[name], f"flink-{name}"
    place.kafka.create_topic(sink, PARTITIONS)

    def written() -> tuple[int, ...]:
        results = sum(place.kafka.end_offsets(sink).values())
        return results, place.files(sink), query.by_clock and flink.finished()

    sql = flink_script(query, place.kafka.bootstrap, _PAST, sink, place.folder)
    found = watch(flink.submit(sql), written, flink.cpu, flink.finished, limit)
    row = caught_up(place.of(name, "flink"), found)
    return replace(row, results=None) if query.files else row


def by_flink(place: Place, jars: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Of all queries; a Flink in which one has failed is not used any more."""
    flink: Flink | None = None
    for name in options.queries:
        row = place.of(name, "flink")
        if name in NOT_THERE:
            yield failed(row, NOT_THERE[name])
            continue
        try:
            flink = flink or Flink(jars, place.folder)
            yield in_flink(place, flink, name, options.limit)
        except (FlinkError, Failed, OSError) as error:
            yield failed(row, error)
            if flink is not None:
                flink.close()
            flink = None
        finally:
            place.kafka.delete_topic(f"flink-{name}", missing_ok=True)
    if flink is not None:
        flink.close()


# -- streamsql -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ours:
    """An engine, ready."""

    place: Place
    engine: Engine
    processes: list[psutil.Process]

    def cpu(self) -> float:
        """CPU seconds so far."""
        times = [process.cpu_times() for process in self.processes]
        return sum(t.user + t.system for t in times)

    def run(self, sql: str) -> None:
        for _ in self.engine.execute(sql):
            pass

    def text(self, name: str, prefix: str, suffix: str = "") -> str:
        """A file's statements over the topics of a prefix."""
        text = (FOLDER / f"{name}.sql").read_text("utf-8")
        text = text.replace("'nexmark-", f"'{prefix}-")
        text = text.replace("'/tmp/nexmark/", f"'{self.place.folder}/")
        return re.sub(rf"\b{name}\b", name + suffix, text) if suffix else text

    def drop(self, text: str, *, topics: bool = True) -> None:
        """What the statements have made, as far as they have; their topics, too."""
        for kind, made in reversed(_CREATED.findall(text)):
            topic = " DELETE TOPIC" if topics and kind in ("STREAM", "TABLE") else ""
            with suppress(StreamSQLError):
                self.run(f"DROP {kind.removeprefix('SOURCE ')} {made}{topic};")

    def settled(self) -> bool:
        return settled(self.engine)

    def running(self) -> bool:
        """Whether all queries run."""
        self.settled()
        return all(q.state is QueryState.RUNNING for q in self.engine.queries())

    def catch_up(self, name: str, limit: float) -> dict[str, float]:
        sources, text = self.text("sources", _PAST), self.text(name, _PAST)
        kafka, place = self.place.kafka, self.place
        try:
            self.run(sources)
            begin = time.monotonic()
            self.run(text)

            def written() -> tuple[int, ...]:
                return sum(kafka.end_offsets(name.upper()).values()), place.files(name)

            return watch(begin, written, self.cpu, self.settled, limit)
        finally:
            self.drop(text)
            self.drop(sources, topics=False)

    def live(self, name: str, events: LiveEvents, seconds: float) -> dict[str, Any]:
        prefix = f"live-{name}"
        sources, text = self.text("sources", prefix), self.text(name, prefix, "_live")
        make_topics(self.place.kafka, prefix)
        sink = f"{name}_live".upper()
        self.place.kafka.create_topic(sink, PARTITIONS)
        servers = self.place.kafka.bootstrap
        receiver = Receiver(servers, [sink], PARTITIONS, sent_at=by_timestamp)
        events.start(prefix)
        try:
            self.run(sources)
            self.run(text)
            if not await_condition(self.running, _START_SECONDS, every=0.05):
                raise Failed("live: not RUNNING, it does not keep up")
            begin = time.time()
            receiver.begin(begin)
            if receiver.first_row(_START_SECONDS) is None:
                raise Failed("live: no results")
            time.sleep(max(0.0, begin + seconds - time.time()))
            mode = next(q.mode for q in self.engine.queries() if q.kind == "PERSISTENT")
            self.settled()
            end = time.time()
            time.sleep(_LAST_SECOND)
            found = receiver.end(end)
            if not found.count:
                raise Failed("live: no results of the time measured")
            return {
                "mode": mode,
                "p50_ms": found.percentile(50),
                "p99_ms": found.percentile(99),
                "live_results": found.count,
                "rate": events.stop(),
            }
        except TimeoutError as error:
            raise Failed(f"live: {error}") from error
        finally:
            if events.sends:
                events.stop()
            receiver.process.terminate()
            self.drop(text)
            self.drop(sources)


def by_streamsql(
    place: Place, flink: Mapping[str, float | None], options: argparse.Namespace
) -> Iterator[Row]:
    """Of all queries; `flink` has the events of a core there."""
    servers = place.kafka.bootstrap
    events = (
        LiveEvents(servers, options.rate, options.live_seconds) if options.live_seconds else None
    )
    me = psutil.Process()
    before = set(me.children(recursive=True))
    config = EngineConfig(place.folder / "engine", servers, warm_up=True)
    with Engine(config) as engine:
        engine.wait_until_ready(_START_SECONDS)
        processes = [me, *(set(me.children(recursive=True)) - before)]
        ours = Ours(place, engine, processes)
        for name in options.queries:
            row = place.of(name, "streamsql")
            if name in NOT_THERE:
                yield failed(row, NOT_THERE[name])
                continue
            try:
                row = caught_up(row, ours.catch_up(name, options.limit), flink.get(name))
                if events is not None:
                    found = ours.live(name, events, options.live_seconds)
                    row = replace(row, **found)
            except (Failed, StreamSQLError) as error:
                row = failed(row, error)
            yield row
    if events is not None:
        events.close()


# -- all -----------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamsql-bench-")))
        servers = options.bootstrap_servers
        if servers is None:
            broker = EmbeddedBroker(DataDir.at(folder))
            broker.start(_START_SECONDS)
            stack.callback(broker.stop)
            servers = broker.bootstrap
        kafka = KafkaClient(servers)
        stack.callback(kafka.close)
        side = "".join(f"{n},value {n}\n" for n in range(SIDE_ROWS))
        (folder / "side_input.csv").write_text(f"key,looked_up\n{side}", "utf-8")
        place = Place(kafka, folder, fill(kafka, _PAST, options.events, options.rate))
        flink: dict[str, float | None] = {}
        if options.flink_jars is None:
            print("Flink: not there (--flink-jars)", file=sys.stderr)
        else:
            for row in by_flink(place, options.flink_jars, options):
                flink[row.query] = row.events_per_core
                yield row
        yield from by_streamsql(place, flink, options)


def show(row: Row, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(row)), flush=True)
        return
    cells = {name: cell for name, cell in asdict(row).items() if name not in ("note", "error")}
    show_table([cells])
    for name in ("note", "error"):
        if text := getattr(row, name):
            print(f"  {name}: {text}")
    sys.stdout.flush()


def _queries(text: str) -> list[str]:
    wanted = text.split(",")
    if unknown := set(wanted) - set(all_queries()):
        raise argparse.ArgumentTypeError(f"no such query: {', '.join(sorted(unknown))}")
    return wanted


def _jars(text: str) -> Path:
    folder = Path(text)
    if not any(folder.glob("flink-dist*.jar")):
        raise argparse.ArgumentTypeError(f"no flink-dist*.jar in {folder}")
    return folder


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--queries", type=_queries, default=all_queries(), help="q0,q1,..; default: all"
    )
    parser.add_argument("--events", type=int, default=1_000_000, help="to catch up with")
    parser.add_argument("--rate", type=int, default=10_000, help="events a second, live")
    parser.add_argument(
        "--live-seconds", type=float, default=60.0, help="measured of each query; 0: none"
    )
    parser.add_argument(
        "--limit", type=float, default=900.0, help="seconds that a query has to catch up"
    )
    parser.add_argument(
        "--flink-jars",
        type=_jars,
        default=os.environ.get("STREAMSQL_FLINK_JARS"),
        metavar="FOLDER",
        help="the jars of a Flink distribution and flink-sql-connector-kafka; also "
        "STREAMSQL_FLINK_JARS; without it Flink is left out",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--bootstrap-servers", help="a Kafka cluster instead of an own broker")
    return parser


def main() -> None:
    options = arguments().parse_args()
    for row in measure(options):
        show(row, options.json)


if __name__ == "__main__":
    main()
