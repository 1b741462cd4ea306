"""Tables that an engine makes of a database's, and what the database has to say of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg
from awaiting import await_until
from soak.history import Table
from soak.replay import TableReader

from streamsql.kafka.client import KafkaClient

SOURCE = """
CREATE TABLE $items (id BIGINT PRIMARY KEY, kind STRING, name STRING, price DECIMAL(12, 2),
    seen TIMESTAMP, due TIMESTAMP, ok BOOLEAN, doc STRING, body STRING)
  WITH (KAFKA_TOPIC='$items', PARTITIONS=2, VALUE_FORMAT='DEBEZIUM_JSON',
    DECIMAL_HANDLING_MODE='PRECISE', TIMESTAMP_PRECISION='MICROSECONDS'{});

"""
QUERIES = """
CREATE TABLE $copied AS SELECT * FROM $items;

CREATE TABLE $grouped AS SELECT kind, COUNT(*) AS n, SUM(price) AS total, COUNT(body) AS bodies,
    SUM(LEN(body)) AS size FROM $items GROUP BY kind;
"""

_COPIED = """
SELECT id, kind, name, price::float8, floor(extract(epoch FROM seen) * 1000)::bigint,
    floor(extract(epoch FROM due) * 1000)::bigint, ok, doc::text, body FROM {}
"""
_GROUPED = """
SELECT kind, count(*), sum(price)::float8, count(body), coalesce(sum(length(body)), 0)
FROM {} WHERE kind IS NOT NULL GROUP BY kind
"""
_COPIED_COLUMNS = ("KIND", "NAME", "PRICE", "SEEN", "DUE", "OK", "DOC", "BODY")
_GROUPED_COLUMNS = ("N", "TOTAL", "BODIES", "SIZE")


class Tables:
    """What a database's table is in Kafka, and what it is to be."""

    def __init__(
        self, connection: psycopg.Connection, table: str, kafka: KafkaClient, topics: Sequence[str]
    ) -> None:
        """`topics`: of the copied and of the grouped table."""
        self._connection, self._table = connection, table
        self._copied, self._grouped = (TableReader(kafka, topic) for topic in topics)

    def _wanted(self) -> tuple[Table, Table]:
        """What the database has: its rows, and their groups."""
        copied = self._rows(_COPIED, _COPIED_COLUMNS)
        return copied, self._rows(_GROUPED, _GROUPED_COLUMNS)

    def _rows(self, sql: str, columns: Sequence[str]) -> Table:
        found = self._connection.execute(sql.format(self._table).encode())
        return {key: dict(zip(columns, row, strict=True)) for key, *row in found}

    def _found(self) -> tuple[Table, Table]:
        """What the engine has made. A group that all rows have left stays, with none in it."""
        groups = _by_key(self._grouped.read())
        return _by_key(self._copied.read()), {k: v for k, v in groups.items() if v["N"]}

    def await_equal(self, seconds: float) -> None:
        """Returns when all is as in the database, in which nothing happens any more."""
        wanted = self._wanted()
        try:
            await_until(lambda: self._found() == wanted, "equal tables", seconds, every=0.2)
        except AssertionError:
            tables = zip(("copied", "grouped"), self._found(), wanted, strict=True)
            raise AssertionError("; ".join(_told(*table) for table in tables)) from None


def _by_key(rows: Table) -> Table:
    return {json.loads(key): row for key, row in rows.items()}


def _told(name: str, found: Table, wanted: Table) -> str:
    wrong = [key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)]
    shown = [f"{key}: {_short(found.get(key))} for {_short(wanted.get(key))}" for key in wrong[:3]]
    return f"{name}: {len(wrong)} of {len(wanted)} rows are wrong: {', '.join(shown)}"


def _short(row: dict[str, Any] | None) -> str:
    return "none" if row is None else str({k: str(v)[:40] for k, v in row.items()})
