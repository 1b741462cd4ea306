"""Fetches all jars, builds the JVM part and archives Spark's classes before they are needed."""

from __future__ import annotations

import sys

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streamsql.errors import StreamSQLError, render
from streamsql.executor.class_archive import ensure_class_archive
from streamsql.executor.spark.class_path import archive_path, java_and_class_path
from streamsql.jvm import jars
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.java import find_java


def _shown_in(bar: Progress) -> jars.Progress:
    task = bar.add_task("", visible=False)

    def show(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total, description=name, visible=True)

    return show


def prepare_spark() -> None:
    """Halves every later start of Spark."""
    java, class_path = java_and_class_path()
    if not archive_path(java, class_path).is_file():
        print("Preparing Spark for quick starts (once, about a minute) ...", flush=True)
        ensure_class_archive()


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
        prepare_spark()
    except StreamSQLError as error:
        print(render(error), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
