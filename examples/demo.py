"""`make demo`: a year of flights through Kafka and Spark, watched as it happens.

Everything runs in a folder of its own that is gone afterwards. Exit code 1 if not every flight has
been counted in time.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from pyarrow import parquet
from rich.console import Console, Group
from rich.live import Live

from cli.progress import waiting
from cli.render import Renderer
from examples.flights import view
from examples.flights.feed import feed
from examples.flights.prepare import FLIGHTS, ordered
from examples.live import LiveTable
from streamsql.engine import Engine, EngineConfig, QueryInfo, QueryState, StepState
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.broker import broker_status
from streamsql.executor.datadir import DataDir
from streamsql.executor.kafka import KafkaClient
from streamsql.executor.load import Progress
from streamsql.parser import split
from streamsql.results import Rows

SQL = Path(__file__).parent / "flights" / "flights.sql"
START_SECONDS = 120.0
AHEAD = 1_000
RATE = 6_000
"""Flights a second: the year passes in less than a minute."""
COUNT_SECONDS = 600.0
LOOK_SECONDS = 0.25
REPORT_SECONDS = 5.0


def main() -> int:
    """Run the demo; its exit code."""
    warnings.simplefilter("ignore")
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


class Feeding:
    """Writes the flights into their topic in a thread of its own.

    The first few go ahead, and all others follow at a steady rate once `arrived` says that their
    results are there: Spark compiles a query when it sees its first rows.
    """

    def __init__(
        self, first: Path, others: Path, client: KafkaClient, arrived: Callable[[int], bool]
    ) -> None:
        self._error: StreamSQLError | None = None
        self._ended = False
        self._arrived = arrived
        self.written = 0
        self._thread = threading.Thread(
            target=self._feed, args=(first, others, client), daemon=True
        )

    def _feed(self, first: Path, others: Path, client: KafkaClient) -> None:
        def note(progress: Progress) -> None:
            self.written = ahead + progress.records

        ahead = 0
        try:
            ahead = feed(first, client, note).records
            while not self._arrived(ahead):
                if self._ended:
                    return
            feed(others, client, note, rate=RATE)
        except StreamSQLError as error:
            self._error = error

    def check(self) -> None:
        """Raise the error that ended the feeding, if there was one."""
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Feeding:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join(1.0)


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
            first, others = self._files()
            servers = self._kafka()
        self._say("Kafka is up; Spark follows")

        self._headline(f"Defining the stream and the tables of {SQL.name}")
        statements = [text for text, _ in split(SQL.read_text("utf-8"))]
        self._execute(statements[0])
        self._execute(f"EXPLAIN {statements[1]}")
        with waiting(self._engine.startup, "starting the queries"):
            self._engine.wait_until_ready(START_SECONDS)
            made = [result for sql in statements[1:] for result in self._engine.execute(sql)]
            self._await_queries(len(statements) - 1)
        for result in made:
            self._renderer.show(result)

        self._headline(f"{FLIGHTS:,} flights, as a stream; results as they arrive")
        with (
            LiveTable(self._engine, view.HOURS, 2) as hours,
            LiveTable(self._engine, view.ROUTES, 2) as routes,
        ):
            with waiting(self._engine.startup, "starting to watch"):
                self._await_queries(len(statements) - 1 + 2)

            def arrived(count: int) -> bool:
                """Waited for, a moment at the most."""
                return all(
                    table.wait_for(lambda rows: view.counted(rows) >= count, LOOK_SECONDS)
                    for table in (hours, routes)
                )

            with Feeding(first, others, KafkaClient(servers), arrived) as fed:
                complete = self._watch(hours, routes, fed)
            return self._summary(hours, routes, complete)

    def _await_queries(self, count: int) -> None:
        """Wait until so many queries have caught up with their empty topics, and run live."""
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

    def _files(self) -> tuple[Path, Path]:
        flights = ordered()
        first, others = self._data / "first.parquet", self._data / "others.parquet"
        parquet.write_table(flights.slice(0, AHEAD), first)
        parquet.write_table(flights.slice(AHEAD), others)
        return first, others

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

    # -- watching --------------------------------------------------------------------------------

    def _watch(self, hours: LiveTable, routes: LiveTable, fed: Feeding) -> bool:
        """Show the tables while they fill; whether every flight came to be counted in both."""
        if sys.stdout.isatty():
            with Live(console=Console(), refresh_per_second=4, transient=True) as live:
                return self._until_counted(
                    hours, routes, fed, lambda: live.update(self._picture(hours, routes, fed))
                )
        reported = time.monotonic()

        def report() -> None:
            nonlocal reported
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                self._say(
                    f"{fed.written:,} flights written, "
                    f"{view.counted(hours.rows()):,} counted by carrier and hour, "
                    f"{view.counted(routes.rows()):,} by route"
                )

        return self._until_counted(hours, routes, fed, report)

    def _until_counted(
        self, hours: LiveTable, routes: LiveTable, fed: Feeding, show: Callable[[], None]
    ) -> bool:
        deadline = time.monotonic() + COUNT_SECONDS
        while time.monotonic() < deadline:
            done = hours.wait_for(_is_complete, LOOK_SECONDS)
            show()
            self._check(self._engine.queries())
            fed.check()
            if done and routes.wait_for(_is_complete, LOOK_SECONDS):
                return True
        return False

    def _picture(self, hours: LiveTable, routes: LiveTable, fed: Feeding) -> Group:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        names = view.carriers()
        grid = Table.grid(padding=(0, 2))
        counts = {
            "written to the topic": fed.written,
            "counted by carrier and hour": view.counted(hours.rows()),
            "counted by route": view.counted(routes.rows()),
        }
        for label, count in counts.items():
            bar = ProgressBar(FLIGHTS, count, width=40, complete_style="cyan")
            grid.add_row(f" Flights {label}", bar, f"{count:,} of {FLIGHTS:,}")
        grid.add_row(" The queries are", self._states())
        tables = (view.worst_hours(hours.rows(), names), view.worst_routes(routes.rows()))
        pictures = [Text.from_ansi(self._text(rows)) for rows in tables]
        return Group(grid, *pictures)

    def _states(self) -> str:
        """Such as `in real time` or, where flights came faster than they could, `catching up`."""
        said = {QueryState.CATCHING_UP: "catching up", QueryState.RUNNING: "in real time"}
        queries = [q for q in self._engine.queries() if q.kind == "PERSISTENT"]
        states = {said.get(q.state, q.state.value.lower()) for q in queries}
        return " and ".join(sorted(states))

    def _text(self, rows: Rows) -> str:
        from cli.table import complete_table

        style, width = self._renderer.style, self._renderer.size[0]
        lines = complete_table(rows.fields, rows.rows, width, style)
        return "\n".join(["", f" {style.title(rows.title)}", "", *lines])

    # -- the end ---------------------------------------------------------------------------------

    def _summary(self, hours: LiveTable, routes: LiveTable, complete: bool) -> int:
        names = view.carriers()
        show = self._renderer.show
        show(view.worst_hours(hours.rows(), names))
        show(view.worst_routes(routes.rows()))
        show(view.year_table(hours.rows(), names))
        counts = view.counted(hours.rows()), view.counted(routes.rows())
        seconds = time.monotonic() - self._began
        self._headline("Done" if complete else "Not everything was counted in time")
        self._say(
            f"{counts[0]:,} flights in {len(hours.rows()):,} windows, "
            f"{counts[1]:,} on {len(routes.rows()):,} routes, in {seconds:.0f} s"
        )
        self._say("Your turn: streamsql opens the shell; examples/flights/README.md goes on.")
        return 0 if complete and counts == (FLIGHTS, FLIGHTS) else 1

    def _headline(self, text: str) -> None:
        self._step += 1
        style = self._renderer.style
        self._renderer.write(["", f"{style.title(f'{self._step}.')} {style.header(text)}", ""])

    def _say(self, text: str) -> None:
        self._renderer.write([f"   {text}"])


def _is_complete(rows: view.Cells) -> bool:
    return view.counted(rows) >= FLIGHTS


if __name__ == "__main__":
    sys.exit(main())
