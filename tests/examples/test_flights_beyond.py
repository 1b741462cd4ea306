"""What goes beyond ksqlDB, over the flights as a script: `run --until-caught-up` against DuckDB.

A process and a broker of its own: its topics are those of the other flights.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from examples.flights import prepare
from examples.flights.feed import Feeder
from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SCRIPT = "examples/flights/beyond.sql"
QUERIES = 9
FLIGHTS = 25_000
"""The first of them, of January: all of them take a minute more."""
SECONDS = 600.0

# By the script's tables: their key's columns, and the same in DuckDB.
TABLES = {
    "LONGEST_DELAYS": (
        ("CARRIER", "PLACE"),
        """
        SELECT * EXCLUDE "at" FROM (
          SELECT carrier, flight, origin, dest, dep_delay, "at", row_number() OVER (
            PARTITION BY carrier ORDER BY dep_delay DESC, "at", flight) AS place
          FROM flights WHERE dep_delay IS NOT NULL)
        WHERE place <= 3
        """,
    ),
    "MOVEMENTS_BY_AIRPORT": (
        ("AIRPORT", "MOVEMENT"),
        """
        SELECT airport, movement, count(*) AS flights,
               sum(delay)::BIGINT AS total_delay, max(delay) AS longest_delay
        FROM (
          SELECT origin AS airport, 'departure' AS movement, dep_delay AS delay FROM flights
          UNION ALL SELECT dest, 'arrival', arr_delay FROM flights)
        WHERE delay IS NOT NULL GROUP BY ALL
        """,
    ),
    "COMPETITION": (
        ("ORIGIN", "DEST"),
        """
        SELECT origin, dest, count(DISTINCT carrier) AS airlines, count(*) AS flights
        FROM flights GROUP BY ALL HAVING airlines > 1
        """,
    ),
    "BIG_PLANES_BY_DESTINATION": (
        ("DEST",),
        """
        SELECT dest, count(*) AS flights FROM flights
        WHERE tailnum IN (SELECT tailnum FROM planes WHERE seats >= 300) GROUP BY ALL
        """,
    ),
    "UNREGISTERED_PLANES_BY_CARRIER": (
        ("CARRIER",),
        """
        SELECT carrier, count(*) AS flights, count(tailnum) AS with_tail_number FROM flights
        WHERE NOT EXISTS (SELECT 1 FROM planes WHERE planes.tailnum = flights.tailnum)
        GROUP BY ALL
        """,
    ),
    "ARRIVALS_BY_DELAY_CLASS": (
        ("DELAY_CLASS",),
        """
        SELECT CASE WHEN arr_delay <= 0 THEN 'on time' ELSE concat('up to ', CAST(
                 15 * 2 ** greatest(0, ceil(log2(arr_delay / 15))) AS INT), ' minutes late')
               END AS delay_class, count(*) AS flights, avg(distance) AS average_distance
        FROM flights WHERE arr_delay IS NOT NULL GROUP BY ALL
        """,
    ),
    "TYPICAL_DELAYS": (
        ("CARRIER", "DEST"),
        """
        SELECT carrier, dest, count(*) AS flights, median(arr_delay) AS median_delay
        FROM flights WHERE arr_delay IS NOT NULL GROUP BY ALL
        """,
    ),
}

REFUSED = {"COMPETITION": "the query keeps empty groups of a table, and a batch has none"}
"""By sinks: why VERIFY does not look at them."""

Row = tuple[tuple[str, Any], ...]


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return prepare.ordered().slice(0, FLIGHTS)


@dataclass(frozen=True)
class Place:
    """Where the script runs."""

    kafka: KafkaClient
    data: Path

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`streamsql` with these, to its end."""
        place = ["--data", str(self.data), "--bootstrap-servers", self.kafka.bootstrap]
        return subprocess.run(
            [sys.executable, "-m", "streamsql.cli.main", *arguments, *place],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=ROOT,
        )


@pytest.fixture(scope="module")
def place(flights: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Once the script has run over flights and planes."""
    folder = tmp_path_factory.mktemp("beyond")
    with EmbeddedBroker(DataDir.at(folder / "broker")) as broker:
        kafka = KafkaClient(broker.bootstrap)
        feeder = Feeder(folder, kafka)
        feeder.write("planes", prepare.year().planes)
        feeder.write("flights", flights)
        place = Place(kafka, folder / "data")
        done = place.command("run", SCRIPT, "--until-caught-up")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[-1] == f"{QUERIES} queries caught up"
        yield place
        kafka.close()


@pytest.fixture(scope="module")
def topics(place: Place) -> KafkaClient:
    """All topics then."""
    return place.kafka


@pytest.fixture(scope="module")
def duck(flights: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("flights", flights)
    connection.register("planes", prepare.read_other("planes"))
    return connection


def _expected(duck: duckdb.DuckDBPyConnection, sql: str) -> Counter[Row]:
    found = duck.sql(sql)
    names = [name.upper() for name in found.columns]
    return Counter(_row(dict(zip(names, row, strict=True))) for row in found.fetchall())


def _row(cells: dict[str, Any]) -> Row:
    return tuple(sorted(cells.items()))


def _final(kafka: KafkaClient, topic: str, key: tuple[str, ...]) -> Counter[Row]:
    """A table's rows when all of its changes are made; a key of one column is plain text."""
    rows: dict[bytes | None, Row] = {}
    for record in kafka.consume(topic, until=kafka.end_offsets(topic)):
        assert record.key is not None
        if record.value is None:
            del rows[record.key]
            continue
        named = {key[0]: record.key.decode()} if len(key) == 1 else json.loads(record.key)
        assert set(named) == set(key)
        rows[record.key] = _row({**named, **json.loads(record.value)})
    return Counter(rows.values())


@pytest.mark.parametrize("table", TABLES)
def test_tables(topics: KafkaClient, duck: duckdb.DuckDBPyConnection, table: str) -> None:
    key, sql = TABLES[table]
    expected = _expected(duck, sql)
    assert len(expected) > 5
    assert _final(topics, table, key) == expected


def test_each_route_is_reported_once(topics: KafkaClient, duck: duckdb.DuckDBPyConnection) -> None:
    records = topics.consume("ROUTES", until=topics.end_offsets("ROUTES"))
    routes = Counter(_row(json.loads(record.value or b"")) for record in records)
    assert routes == _expected(duck, "SELECT DISTINCT carrier, origin, dest FROM flights")


def test_each_query_is_what_a_batch_makes(place: Place) -> None:
    done = place.command("verify")
    refused = re.findall(r"CTAS_(\w+)_\d+ cannot be verified: (.*)", done.stderr)
    assert dict(refused) == REFUSED, done.stderr
    assert done.stdout.count(", committed up to ") == QUERIES - len(REFUSED)
    results = set(re.findall(r"^ (\w[\w ]*?) +│ +[\d,]+ │", done.stdout, re.MULTILINE))
    assert results == {"the same"}, done.stdout
