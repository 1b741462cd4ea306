"""Fetches all jars, builds the JVM part and makes the class data archives in advance."""

from __future__ import annotations

import sys

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streamsql.errors import StreamSQLError, render
from streamsql.executor.class_archive import archive_paths, ensure_class_archives
from streamsql.jvm import jars
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.java import find_java


def _shown_in(bar: Progress) -> jars.Progress:
    task = bar.add_task("", visible=False)

    def show(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total, description=name, visible=True)

    return show


def prepare_archives() -> None:
    """Halves the work of every later start of Spark and Kafka."""
    if not all(path.is_file() for path in archive_paths().values()):
        print("Preparing Spark and Kafka for quick starts (once, about a minute) ...", flush=True)
        ensure_class_archives()


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
        prepare_archives()
    except StreamSQLError as error:
        print(render(error), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
