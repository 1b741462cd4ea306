"""WITH (..) of files outside Kafka."""

from __future__ import annotations

import re

from streamsql.planner.with_clause.properties import WithProperties

FORMATS = ("PARQUET", "JSON", "CSV")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*://")


def file_format(given: WithProperties) -> str:
    """FORMAT, by default the first; ConfigError for a format that files do not support."""
    format = (given.text("FORMAT") or FORMATS[0]).upper()
    if format not in FORMATS:
        raise given.invalid("FORMAT", f"'{format}' is not one of {', '.join(FORMATS)}")
    return format


def check_path(path: str, given: WithProperties, example: str) -> None:
    """ConfigError if PATH depends on a process's working directory."""
    if not _ABSOLUTE.match(path) or not path.isprintable():
        raise given.invalid("PATH", "it is not an absolute path or a URI", example)
