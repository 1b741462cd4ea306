"""`make demo`: a year of flights through Kafka and Spark, watched as it happens.

Everything runs in a folder of its own that is gone afterwards. Exit code 1 if not every flight has
been counted in time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.live import Live

from examples.flights import prepare, view
from examples.flights.feed import Feeder, LiveFeed
from examples.flights.picture import Watched, picture
from examples.flights.prepare import FLIGHTS
from examples.live import LiveTable
from streamsql.cli.terminal.progress import waiting
from streamsql.cli.terminal.render import Renderer
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, QueryInfo, QueryState, StepState
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.kafka.broker import broker_status
from streamsql.kafka.client import KafkaClient
from streamsql.parser import split
from streamsql.results import Message

SQL = Path(__file__).parent / "flights" / "flights.sql"
EXPLAINED = "CREATE STREAM flights_in_context"
START_SECONDS = 120.0
COUNT_SECONDS = 600.0
LOOK_SECONDS = 0.25
REPORT_SECONDS = 5.0


def main() -> int:
    """Run the demo; its exit code."""
    renderer = Renderer()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="streamsql-demo-") as folder:
        data = Path(folder)
        try:
            with Engine(EngineConfig(data_dir=data)) as engine:
                return Demo(engine, renderer, data, began).run()
        except StreamSQLError as error:
            renderer.error(error)
            return error.exit_code
        except KeyboardInterrupt:
            return 130


class Demo:
    """The demo's steps, each with a headline."""

    def __init__(self, engine: Engine, renderer: Renderer, data: Path, began: float) -> None:
        self._engine = engine
        self._renderer = renderer
        self._data = data
        self._began = began
        self._step = 0

    def run(self) -> int:
        self._headline("Starting Kafka and Spark, and sorting a year of flights")
        with waiting(self._engine.startup):
            year = prepare.year()
            feeder = Feeder(self._data, KafkaClient(self._kafka()))
            # Before the flights: a stream meets the rows that a table has at the time.
            feeder.write("airlines", year.airlines)
            feeder.write("planes", year.planes)
        self._say(
            f"Kafka is up, with {len(year.airlines)} airlines and {len(year.planes):,} planes; "
            "Spark follows"
        )
        queries = self._define()

        self._headline(f"{FLIGHTS:,} flights and the weather, as streams; results as they arrive")
        with ExitStack() as watching:
            watched = Watched(
                *(
                    watching.enter_context(LiveTable(self._engine, sql, 2))
                    for sql in (view.HOURS, view.ROUTES, view.WIND, view.PLANES)
                )
            )
            with waiting(self._engine.startup, "starting to watch"):
                self._await_queries(queries + len(watched.labelled))
            with LiveFeed(year, feeder, watched.joined) as feed:
                complete = self._watch(watched, feed)
            return self._summary(watched, complete)

    def _define(self) -> int:
        """Run the file's statements, telling what they made; how many queries there are."""
        self._headline(f"Defining the streams and the tables of {SQL.name}")
        statements = [text for text, _ in split(SQL.read_text("utf-8"))]
        sources = [sql for sql in statements if "KAFKA_TOPIC" in sql]
        made = [result for sql in sources for result in self._engine.execute(sql)]
        for sql in statements:
            if EXPLAINED in sql:
                self._execute(f"EXPLAIN {sql[sql.index(EXPLAINED) :]}")
        with waiting(self._engine.startup, "starting the queries"):
            self._engine.wait_until_ready(START_SECONDS)
            for sql in statements[len(sources) :]:
                made += self._engine.execute(sql)
            queries = len(self._engine.catalog().queries)
            self._await_queries(queries)
        for result in made:
            assert isinstance(result, Message)
            self._renderer.show(result)
        return queries

    def _await_queries(self, count: int) -> None:
        """Wait until that many queries have caught up with their topics, and run live."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            queries = self._engine.queries()
            self._check(queries)
            running = [query for query in queries if query.state is QueryState.RUNNING]
            if len(running) == count:
                return
            time.sleep(LOOK_SECONDS)

    def _check(self, queries: Sequence[QueryInfo]) -> None:
        for query in queries:
            if query.error:
                raise ExternalError(f"query {query.id} failed: {query.error}")

    def _kafka(self) -> str:
        """The address of the engine's broker, waited for."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            status = self._engine.startup()
            if status.error is not None:
                raise status.error
            if any(s.name == "kafka" and s.state is StepState.DONE for s in status.steps):
                servers = broker_status(DataDir.at(self._data)).bootstrap
                if servers is not None:
                    return servers
            time.sleep(LOOK_SECONDS)
        raise ExternalError("Kafka did not start in time")

    def _execute(self, sql: str) -> None:
        for result in self._engine.execute(sql):
            assert not hasattr(result, "cancel")
            self._renderer.show(result)

    def _watch(self, watched: Watched, feed: LiveFeed) -> bool:
        """Show the tables while they fill; whether every flight came to be counted in all."""
        if sys.stdout.isatty():
            with Live(console=Console(), refresh_per_second=4, transient=True) as live:

                def draw() -> None:
                    queries = self._engine.queries()
                    live.update(picture(watched, feed.written, queries, self._renderer))

                return self._until_counted(watched, feed, draw)
        reported = time.monotonic()

        def report() -> None:
            nonlocal reported
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                counts = [f"{count:,} {label}" for label, count in watched.counts().items()]
                self._say(f"{feed.written:,} flights written; counted {', '.join(counts)}")

        return self._until_counted(watched, feed, report)

    def _until_counted(self, watched: Watched, feed: LiveFeed, show: Callable[[], None]) -> bool:
        deadline = time.monotonic() + COUNT_SECONDS
        while time.monotonic() < deadline:
            complete = watched.complete()
            show()
            self._check(self._engine.queries())
            feed.check()
            if complete:
                return True
        return False

    def _summary(self, watched: Watched, complete: bool) -> int:
        names = view.carriers()
        show = self._renderer.show
        show(view.worst_hours(watched.hours.rows(), names))
        show(view.worst_routes(watched.routes.rows()))
        show(view.by_wind(watched.wind.rows()))
        show(view.by_plane(watched.planes.rows()))
        show(view.year_table(watched.hours.rows(), names))
        seconds = time.monotonic() - self._began
        self._headline("Done" if complete else "Not everything was counted in time")
        for label, table in watched.labelled.items():
            rows = table.rows()
            self._say(f"{view.counted(rows):,} flights {label}, in {len(rows):,} rows")
        self._say(f"All of it in {seconds:.0f} s")
        self._say("Your turn: streamsql opens the shell; examples/flights/README.md continues.")
        return 0 if set(watched.counts().values()) == {FLIGHTS} else 1

    def _headline(self, text: str) -> None:
        self._step += 1
        style = self._renderer.style
        self._renderer.write(["", f"{style.title(f'{self._step}.')} {style.header(text)}", ""])

    def _say(self, text: str) -> None:
        self._renderer.write([f"   {text}"])


if __name__ == "__main__":
    sys.exit(main())
