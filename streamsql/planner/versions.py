"""FOR VERSION AS OF, FOR TIMESTAMP AS OF: the snapshot of a table of Iceberg that is read."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Source
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import VersionAsOf
from streamsql.planner.types.timestamps import parse_timestamp
from streamsql.types import quote


def as_of(source: Source, version: VersionAsOf | None) -> Source:
    """The source as it is read with that clause."""
    if version is None:
        return source
    if version.now:
        check_no_version(source.name, version)
    if source.lookup is None or not source.is_lake:
        check_no_version(source.name, version)
    elif version.timestamp is not None and parse_timestamp(version.timestamp) is None:
        raise PlanError(
            f"Failed to parse timestamp '{version.timestamp}'",
            hint="Write it as '2024-05-01 12:30:00'.",
            span=version.span,
        )
    assert source.lookup is not None
    return replace(source, lookup=replace(source.lookup, version=version))


def check_no_version(name: str, version: VersionAsOf | None) -> None:
    """UnsupportedError for a snapshot of what has none."""
    if version is not None and version.now:
        raise UnsupportedError(
            "FOR SYSTEM_TIME AS OF PROCTIME() is for the right side of a JOIN in standard SQL",
            hint="A materialized view takes it. CREATE STREAM .. AS joins a stream with a table's "
            "rows of the moment without it.",
            span=version.span,
        )
    if version is not None:
        raise UnsupportedError(
            f"{quote(name)} has no snapshots: FOR VERSION and FOR TIMESTAMP AS OF are for "
            "tables of Iceberg",
            hint="AS OF TIMESTAMP at the end of a SELECT reads materialized views as of a time.",
            span=version.span,
        )
