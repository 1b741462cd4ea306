"""Progress on the terminal: startup, loading, lag of queries. It is written to standard error and
removed at the end; without a terminal nothing is shown."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamsql.cli.terminal.style import Style

if TYPE_CHECKING:
    from streamsql.status import StartupStatus

STEP_NAMES = {"jars": "Jars", "kafka": "Kafka", "spark": "Spark", "queries": "Queries"}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BAR_WIDTH = 30
REFRESH_PER_SECOND = 10


@contextmanager
def waiting(status: Callable[[], StartupStatus], note: str = "") -> Iterator[None]:
    """Shows the start-up's steps while the block runs, or a mere sign of life after it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    ended = threading.Event()
    drawing = threading.Thread(target=_draw, args=(status, note, ended), name="progress")
    drawing.start()
    try:
        yield
    finally:
        ended.set()
        drawing.join()


def _draw(status: Callable[[], StartupStatus], note: str, ended: threading.Event) -> None:
    style, erase = Style.of(sys.stderr), ""
    while not ended.wait(1 / REFRESH_PER_SECOND):
        lines = _steps(status(), note, style)
        sys.stderr.write(erase + "".join(f"{line}\n" for line in lines))
        sys.stderr.flush()
        erase = f"\x1b[{len(lines)}A\x1b[J"
    sys.stderr.write(erase)
    sys.stderr.flush()


def _steps(status: StartupStatus, note: str, style: Style) -> list[str]:
    """A line per step, none wider than the terminal."""
    frame = style.hint(_SPINNER[int(time.monotonic() * REFRESH_PER_SECOND) % len(_SPINNER)])
    if status.ready:
        return [f"{frame} {style.dim(note or 'working')}"]
    marks = {"done": style.good("✓"), "failed": style.error("✗"), "running": frame}
    names = [STEP_NAMES.get(step.name, step.name) for step in status.steps]
    wide = max(map(len, names))
    room = max(shutil.get_terminal_size().columns - wide - _BAR_WIDTH - 5, 0)
    lines = []
    for step, name in zip(status.steps, names, strict=True):
        running = step.state.value == "running"
        bar = _bar(step.fraction, style) if running and step.fraction is not None else ""
        mark = marks.get(step.state.value, "·")
        lines.append(f"{mark} {name:<{wide}} {style.dim(step.detail[:room])} {bar}".rstrip())
    return lines


def _bar(fraction: float, style: Style) -> str:
    filled = round(_BAR_WIDTH * min(fraction, 1.0))
    return style.hint("━" * filled) + style.frame("━" * (_BAR_WIDTH - filled))


class Bar:
    """One progress bar; `update` may be called as often as one likes."""

    def __init__(self, title: str, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._unit = unit
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30, complete_style="cyan", finished_style="green"),
            TaskProgressColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=Console(stderr=True, highlight=False),
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
