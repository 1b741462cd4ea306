"""The demo's screen: how far the flights are, and the tables as they are now."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.flights import view
from examples.flights.prepare import FLIGHTS
from examples.live import LiveTable
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.table import complete_table
from streamsql.engine import QueryInfo, QueryState
from streamsql.results import Rows

LINES_BESIDES = 24
"""Of the screen, without the rows of the two tables that are cut to fit."""
LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Watched:
    """The four tables."""

    hours: LiveTable
    routes: LiveTable
    wind: LiveTable
    planes: LiveTable

    @property
    def labelled(self) -> dict[str, LiveTable]:
        return {
            "by carrier and hour": self.hours,
            "by route": self.routes,
            "by airline and wind": self.wind,
            "by kind of plane": self.planes,
        }

    def counts(self) -> dict[str, int]:
        """Flights counted, by the tables' labels."""
        return {name: view.counted(table.rows()) for name, table in self.labelled.items()}

    def complete(self) -> bool:
        """Whether each table has counted every flight; waits a moment for it."""
        return all(
            table.wait_for(lambda rows: view.counted(rows) >= FLIGHTS, LOOK_SECONDS)
            for table in self.labelled.values()
        )

    def joined(self) -> tuple[int, int]:
        """How many flights have come through the join, and how many of them met a wind."""
        rows = self.wind.rows()
        return view.counted(rows), view.with_wind(rows)


def picture(watched: Watched, written: int, queries: list[QueryInfo], renderer: Renderer) -> Group:
    """All of it; `written` flights are in their topic."""
    grid = Table.grid(padding=(0, 2))
    for label, count in {"written": written, **watched.counts()}.items():
        bar = ProgressBar(FLIGHTS, count, width=40, complete_style="cyan")
        grid.add_row(f" Flights {label}", bar, f"{count:,} of {FLIGHTS:,}")
    grid.add_row(" The queries are", _states(queries))
    room = max(renderer.size[1] - LINES_BESIDES, 4)
    tables = (
        view.worst_routes(watched.routes.rows(), 3),
        view.by_wind(watched.wind.rows(), max(2, min(8, room // 2))),
        view.by_plane(watched.planes.rows(), max(2, min(6, room - room // 2))),
    )
    return Group(grid, *(Text.from_ansi(_text(rows, renderer)) for rows in tables))


def _states(queries: list[QueryInfo]) -> str:
    """Such as `in real time` or, where flights came faster than they could, `catching up`."""
    said = {QueryState.CATCHING_UP: "catching up", QueryState.RUNNING: "in real time"}
    states = {said.get(q.state, q.state.value.lower()) for q in queries if q.kind == "PERSISTENT"}
    return " and ".join(sorted(states))


def _text(rows: Rows, renderer: Renderer) -> str:
    style, width = renderer.style, renderer.size[0]
    lines = complete_table(rows.fields, rows.rows, width, style)
    return "\n".join(["", f" {style.title(rows.title)}", "", *lines])
