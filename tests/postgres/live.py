"""What tests do with a listener over a real engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

import psycopg
import pytest
from awaiting import await_until

from streamsql.engine import Engine

SECONDS = 120.0
PREPARE = """
CREATE STREAM pg_readings (sensor STRING KEY, n INT, price DECIMAL(6, 2), seen TIMESTAMP,
    tags ARRAY<STRING>, place STRUCT<city STRING>)
  WITH (KAFKA_TOPIC='pg_readings', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE pg_counts AS
  SELECT sensor, COUNT(*) AS n FROM pg_readings GROUP BY sensor EMIT CHANGES;
"""
COPIED = (
    'a\t1\t1.50\t2024-02-29 12:00:00+00\t{x,NULL}\t{"city":"Bergen"}\n'
    "b\t2\t\\N\t\\N\t\\N\t\\N\n"
    "a\t3\t2.00\t2024-02-29 12:00:01+00\t{}\t\\N\n"
)


class LiveListener:
    """Port 0 of 127.0.0.1 and the engine behind it."""

    def __init__(self, engine: Engine, port: int) -> None:
        self.engine = engine
        self.port = port

    @property
    def where(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=ann dbname=streamsql"

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.where, autocommit=True)

    def prepare(self) -> None:
        """PG_READINGS with three rows copied into it, the table PG_COUNTS over it."""
        with self.connect() as connection:
            for statement in PREPARE.split(";\n")[:2]:
                connection.execute(statement)
            with connection.cursor().copy("COPY pg_readings FROM STDIN") as copy:
                copy.write(COPIED)
            await_until(
                lambda: self._counts(connection) == [("a", 2), ("b", 1)], "counted", SECONDS
            )

    @staticmethod
    def _counts(connection: psycopg.Connection) -> list[tuple[object, ...]]:
        return sorted(connection.execute("SELECT sensor, n FROM pg_counts").fetchall())

    def push_queries(self) -> int:
        return sum(query.kind == "PUSH" for query in self.engine.queries())

    def await_no_push_query(self) -> None:
        await_until(lambda: self.push_queries() == 0, "no push query runs", SECONDS)


def psql(port: int, *commands: str, **more: str) -> str:
    """What psql prints for commands; the test is skipped where there is none."""
    program = shutil.which("psql")
    if program is None:
        pytest.skip("there is no psql (Debian: postgresql-client)")
    named: Mapping[str, str] = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "ann"}
    options = [option for command in commands for option in ("-c", command)]
    done = subprocess.run(
        [program, "-X", "-d", "streamsql", *options],
        env={**os.environ, **named, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return done.stdout + done.stderr
