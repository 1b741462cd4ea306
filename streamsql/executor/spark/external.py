"""What queries write outside Kafka; `Jvm.external_writer` writes it."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True)
class IcebergTarget:
    """The table of Iceberg that rows are written to: io.streamsql.iceberg.IcebergTarget documents
    its parts."""

    name: str
    topic: str
    catalog: str
    properties: Mapping[str, str]
    table: str
    schema: str
    columns: tuple[str, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    keys: tuple[str, ...]
    partition_by: tuple[str, ...]
    retention_ms: int
    jars: tuple[str, ...]
    interval_ms: int
    """From one batch to the next."""


ExternalTarget = FileTarget | DatabaseTarget | IcebergTarget
