"""psql's scripts and `\\watch`; psycopg on an event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from postgres.stand_in import StandInListener

SECONDS = 60
SCRIPT = r"""
\set ON_ERROR_STOP on
\set least 3
BEGIN;
SELECT sensor FROM readings WHERE n > :least;
COMMIT;
\copy (SELECT sensor, n FROM readings) TO STDOUT CSV
SELECT current_schema() AS found, true AS yes \gset
\echo found :found
\if :yes
SELECT 'then' AS which;
\endif
SELECT sensor FROM readings \g (format=unaligned)
SELECT nope FROM readings;
SELECT 'never';
"""


def _psql(port: int, *options: str) -> subprocess.Popen[str]:
    program = shutil.which("psql")
    if program is None:
        pytest.skip("there is no psql (Debian: postgresql-client)")
    named = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "ann"}
    return subprocess.Popen(
        [program, "-X", "-d", "streamsql", *options],
        env={**os.environ, **named},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_script(stand_in: StandInListener, tmp_path: Path) -> None:
    path = tmp_path / "script.sql"
    path.write_text(SCRIPT, "utf-8")
    process = _psql(stand_in.port, "-q", "-t", "-A", "-f", str(path))
    shown, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, shown
    *lines, error, _, _ = (line for line in shown.splitlines() if not line.startswith("HINT"))
    assert lines == ["a", "b", "a,1", "b,", "found public", "then", "a", "b"]
    assert "script.sql:14: ERROR:" in error and "NOPE" in error


def test_watching(stand_in: StandInListener) -> None:
    process = _psql(stand_in.port, "-t", "-A")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("SELECT sensor FROM readings \\watch 0.01\n")
    process.stdin.flush()
    seen = 0
    while seen < 3:
        line = process.stdout.readline()
        assert line, "psql has ended"
        seen += line == "b\n"
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    process.wait(SECONDS)
    process.stdout.close()


def test_psycopg_on_an_event_loop(stand_in: StandInListener) -> None:
    async def talk() -> None:
        connect = psycopg.AsyncConnection.connect
        async with await connect(stand_in.where, autocommit=True) as connection:
            cursor = await connection.execute("SELECT sensor, n FROM readings WHERE n = %s", [1])
            assert await cursor.fetchall() == [("a", 1), ("b", None)]
            async with connection.pipeline():
                first = await connection.execute("SELECT sensor FROM readings WHERE n = %s", [1])
                second = await connection.execute("SELECT n FROM readings WHERE n = %s", [2])
            assert await first.fetchall() == [("a",), ("b",)]
            assert await second.fetchall() == [(1,), (None,)]
            rows = connection.cursor().stream("SELECT n FROM readings EMIT CHANGES")
            assert [await anext(rows) for _ in range(3)] == [(1,), (2,), (3,)]
            await rows.aclose()
        async with await connect(stand_in.where) as connection, connection.cursor("c") as named:
            await named.execute("SELECT sensor FROM readings")
            assert await named.fetchmany(1) == [("a",)]
            assert [row async for row in named] == [("b",)]

    asyncio.run(talk())
