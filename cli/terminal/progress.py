"""Progress on the terminal: startup, loading, lag of queries. It is written to standard error and
removed at the end; without a terminal nothing is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from streamsql.status import StartupStatus

STEP_NAMES = {"jars": "Jars", "kafka": "Kafka", "spark": "Spark", "queries": "Queries"}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
REFRESH_PER_SECOND = 10


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextmanager
def waiting(status: Callable[[], StartupStatus], note: str = "") -> Iterator[None]:
    """Shows the start-up's steps while the block runs, or a mere sign of life after it."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.live import Live

    live = Live(
        console=_console(),
        get_renderable=lambda: _steps(status(), note),
        refresh_per_second=REFRESH_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:
        yield


def _steps(status: StartupStatus, note: str) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    frame = _SPINNER[int(time.monotonic() * REFRESH_PER_SECOND) % len(_SPINNER)]
    grid = Table.grid(padding=(0, 1))
    if status.ready:
        grid.add_row(Text(frame, style="cyan"), Text(note or "working", style="dim"))
        return grid
    for step in status.steps:
        state = step.state.value
        mark = {"done": ("✓", "green"), "failed": ("✗", "red"), "running": (frame, "cyan")}
        sign, style = mark.get(state, ("·", "dim"))
        cells = [Text(sign, style=style), Text(STEP_NAMES.get(step.name, step.name))]
        cells.append(Text(step.detail, style="dim"))
        if state == "running" and step.fraction is not None:
            bar = ProgressBar(1.0, step.fraction, width=30, complete_style="cyan")
            grid.add_row(*cells, bar)
        else:
            grid.add_row(*cells)
    return grid


class Bar:
    """One progress bar; `update` may be called as often as one likes."""

    def __init__(self, title: str, unit: str) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._unit = unit
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30, complete_style="cyan", finished_style="green"),
            TaskProgressColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=_console(),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(title, total=None, note="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, count: int, fraction: float | None) -> None:
        """`count` of processed units; the bar shows `fraction`, or an animation if it is None."""
        elapsed = self._progress.tasks[0].elapsed or 0.0
        speed = f" · {count / elapsed:,.0f}/s" if elapsed > 1 else ""
        self._progress.update(
            self._task,
            total=None if fraction is None else 1.0,
            completed=fraction or 0.0,
            note=f"{count:,} {self._unit}{speed}",
        )
