"""What queries write outside Kafka; `Jvm.file_writer` and `Jvm.database_writer` write it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileTarget:
    """Where and how rows are written as files."""

    path: str
    format: str
    """PARQUET, JSON or CSV."""
    partition_by: tuple[str, ...]
    interval_ms: int
    """From one batch to the next."""


@dataclass(frozen=True)
class DatabaseTarget:
    """The table that rows are written to: io.streamsql.sinks.JdbcTarget documents its parts."""

    name: str
    topic: str
    url: str
    user: str
    password: str
    """A reference to it."""
    jars: tuple[str, ...]
    table: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    keys: tuple[str, ...]
    rows: int
    interval_ms: int
    """From one batch to the next."""
