"""Fetches all jars and builds the JVM part before they are needed, with a progress bar."""

from __future__ import annotations

import sys

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streamsql.errors import StreamSQLError, render
from streamsql.executor import jars
from streamsql.executor.java import find_java
from streamsql.executor.jvm_build import ensure_runtime_jar


def _shown_in(bar: Progress) -> jars.Progress:
    task = bar.add_task("", visible=False)

    def show(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total, description=name, visible=True)

    return show


def main() -> int:
    bar = Progress(
        TextColumn("Fetching jars"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        transient=True,
    )
    try:
        find_java()
        with bar:
            jars.ensure_jars("spark", _shown_in(bar))
            jars.ensure_jars("kafka", _shown_in(bar))
        ensure_runtime_jar()
    except StreamSQLError as error:
        print(render(error), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
