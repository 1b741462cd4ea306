"""pgjdbc, by JdbcClient.java: DatabaseMetaData beside PostgreSQL's, statements that are prepared,
fetched in pieces and sent in batches."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from datadriven import CASES
from postgres.oracle import WITHOUT, postgres, programs
from postgres.stand_in import StandIn, StandInListener, listening

from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.java import find_java

pytestmark = pytest.mark.spark
SOURCE = Path(__file__).with_name("JdbcClient.java")
FOLDER = CASES / "postgres"
SECONDS = 120
OWN = ("catalogs", "types")
"""What names things of each server's own."""


def _run(where: str, what: str) -> dict[str, list[str]]:
    """The lines below each heading."""
    (driver,) = ensure_jars("java-client")
    command = [find_java().program, "-cp", driver, SOURCE, f"jdbc:postgresql://{where}", what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("## "):
            lines = found.setdefault(line[3:], [])
        else:
            lines.append(line)
    return found


@pytest.fixture
def described(tmp_path: Path) -> Iterator[int]:
    """A listener over the tables of the introspection."""
    engine = StandIn(tmp_path, (FOLDER / "schema.sql").read_text("utf-8"))
    with closing(engine), listening(engine) as port:
        yield port


def test_metadata(described: int) -> None:
    ours = _run(f"127.0.0.1:{described}/streamsql?user=streamsql", "metadata")
    assert ours["primary keys"] == ["account | 1 | positions_pkey", "symbol | 2 | positions_pkey"]
    assert "accounts | balance | 2 | numeric | 12 | 2 | 1 | 3 | NO" in ours["columns"]
    assert "events | TABLE | Stream over the topic events" in ours["tables"]
    if programs() is None:
        pytest.skip(WITHOUT)
    with postgres() as where:
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute((FOLDER / "schema.postgres.sql").read_bytes())
            port = connection.info.port
        theirs = _run(f"127.0.0.1:{port}/streamsql?user=streamsql", "metadata")
    assert set(ours["types"]) <= set(theirs["types"])
    for heading in theirs.keys() - {*OWN, "user types", "privileges"}:
        assert ours[heading] == theirs[heading], heading


def test_queries(stand_in: StandInListener) -> None:
    found = _run(f"127.0.0.1:{stand_in.port}/streamsql?user=ann", "queries")
    assert found["types"] == [
        "sensor:text n:int4 big:int8 price:numeric share:float8 good:bool raw:bytea day:date "
        "clock:time seen:timestamptz tags:_text counts:jsonb place:jsonb",
        '1 1099511627776 1.50 2024-02-29T12:00:00.123Z 2024-02-29 2 4 {"k":1}',
    ]
    assert found["prepared"] == ["1 2024-02-29T12:00:00.123Z 1.50"] * 8
    assert found["fetched"] == [str(n) for n in range(1, 8)]
    assert found["batch"] == ["1"] * 3
    assert found["mistake"] == ["42703"]
    assert "INSERT INTO readings (sensor, n, price) VALUES ('s2', 2, NULL)" in stand_in.engine.ran
