"""`make demo`: a year of flights through Kafka and Spark, watched as it happens.

Everything runs in a folder of its own that is gone afterwards. Exit code 1 if not every flight has
been counted in time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live

from cli.progress import Bar, waiting
from cli.render import Renderer
from examples.flights import view
from examples.flights.feed import feed
from examples.flights.prepare import FLIGHTS, prepare
from examples.live import LiveTable
from streamsql.engine import Engine, EngineConfig, StepState
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.broker import broker_status
from streamsql.executor.datadir import DataDir
from streamsql.executor.kafka import KafkaClient
from streamsql.parser import split
from streamsql.results import Rows

SQL = Path(__file__).parent / "flights" / "flights.sql"
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
            file = prepare(self._data / "flights.parquet")
            servers = self._kafka()
        self._say("Kafka is up; Spark follows")

        self._headline("Loading the flights into a topic, with their departures as event time")
        client = KafkaClient(servers)
        with Bar("Loading", "flights") as bar:
            summary = feed(file, client, lambda p: bar.update(p.records, p.fraction))
        speed = summary.records / summary.seconds
        self._say(f"{summary.records:,} flights in {summary.seconds:.1f} s ({speed:,.0f}/s)")

        self._headline(f"Defining the stream and the tables of {SQL.name}")
        statements = [text for text, _ in split(SQL.read_text("utf-8"))]
        self._execute(statements[0])
        self._execute(f"EXPLAIN {statements[1]}")
        with waiting(self._engine.startup):
            for statement in statements[1:]:
                self._execute(statement)

        self._headline("Results, as they arrive")
        with (
            LiveTable(self._engine, view.HOURS, 2) as hours,
            LiveTable(self._engine, view.ROUTES, 2) as routes,
        ):
            complete = self._watch(hours, routes)
            return self._summary(hours, routes, complete)

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

    def _watch(self, hours: LiveTable, routes: LiveTable) -> bool:
        """Show the tables while they fill; whether every flight came to be counted in both."""
        if sys.stdout.isatty():
            with Live(console=Console(), refresh_per_second=4, transient=True) as live:
                return self._until_counted(
                    hours, routes, lambda: live.update(self._picture(hours, routes))
                )
        reported = time.monotonic()

        def report() -> None:
            nonlocal reported
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                self._say(
                    f"{view.counted(hours.rows()):,} flights counted by hour, "
                    f"{view.counted(routes.rows()):,} by route"
                )

        return self._until_counted(hours, routes, report)

    def _until_counted(self, hours: LiveTable, routes: LiveTable, show: Callable[[], None]) -> bool:
        deadline = time.monotonic() + COUNT_SECONDS
        while time.monotonic() < deadline:
            done = hours.wait_for(_is_complete, LOOK_SECONDS)
            show()
            for query in self._engine.queries():
                if query.error:
                    raise ExternalError(f"query {query.id} failed: {query.error}")
            if done and routes.wait_for(_is_complete, LOOK_SECONDS):
                return True
        return False

    def _picture(self, hours: LiveTable, routes: LiveTable) -> Group:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        names = view.carriers()
        grid = Table.grid(padding=(0, 2))
        for label, table in (("by hour", hours), ("by route", routes)):
            count = view.counted(table.rows())
            bar = ProgressBar(total=FLIGHTS, completed=count, width=40)
            grid.add_row(f" Flights counted {label}", bar, f"{count:,} of {FLIGHTS:,}")
        tables = (view.worst_hours(hours.rows(), names), view.worst_routes(routes.rows()))
        pictures = [Text.from_ansi(self._text(rows)) for rows in tables]
        return Group(grid, *pictures)

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
