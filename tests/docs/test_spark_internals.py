"""The table of Spark's internals in docs/design/real-time-internals.md, against the code."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from streamsql.jvm.build import SOURCES
from streamsql.jvm.lock import locked_jars
from streamsql.jvm.sources import java_sources

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/design/real-time-internals.md").read_text("utf-8")
_INTERNAL = re.compile(
    r"^import org\.apache\.spark\.(?:sql\.(?:execution|kafka010|internal)|shuffle|internal|memory"
    r"|deploy)\b[\w.]*\.(?!package)(\w+)\$?;",
    re.MULTILINE,
)
"""Packages in which nothing is public API."""


def _rows() -> list[tuple[set[str], set[str], str]]:
    """Of each row the internals, the places that use them, and what ends the use."""
    found = []
    for line in TEXT[TEXT.index("## Spark's internals") :].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "internal of Spark":
            names = set(re.findall(r"`([\w.]+)`", cells[0]))
            places = set(re.findall(r"`([a-z][\w/]*[./][\w./]+)`", cells[1]))
            found.append((names, places, cells[3]))
    return found


def test_the_table_was_written_for_the_versions_that_run() -> None:
    """Another Spark: go through the table, then change the version in the text."""
    spark, connector = re.findall(r"\*\*Spark ([\d.]+)\*\*.*?connector ([\d.]+)", TEXT, re.DOTALL)[
        0
    ]
    assert version("pyspark") == spark
    jars = {jar.artifact: jar.version for jar in locked_jars("spark")}
    assert jars["spark-sql-kafka-0-10_2.13"] == connector


def test_every_internal_class_that_java_imports_is_in_the_table() -> None:
    missing = []
    for source in java_sources(SOURCES):
        place = ".".join(source.relative_to(SOURCES / "io/streamsql").with_suffix("").parts)
        known = set().union(*(names for names, places, _ in _rows() if place in places))
        used = _INTERNAL.findall(source.read_text("utf-8"))
        missing += [f"{place}: {name}" for name in used if name not in known]
    assert missing == []


def test_every_place_in_the_table_is_there_and_every_use_has_an_end() -> None:
    for names, places, end in _rows():
        assert places and end, names
        for place in places:
            path = place if "/" in place else f"jvm/io/streamsql/{place.replace('.', '/')}.java"
            assert (ROOT / "streamsql" / path).exists(), place
