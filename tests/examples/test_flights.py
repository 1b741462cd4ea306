"""The flights on real Kafka and Spark, all 336,776 of them, against DuckDB over the same data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from examples.flights import prepare, view
from examples.flights.feed import Feeder
from examples.flights.prepare import FLIGHTS
from examples.live import LiveTable
from streamsql.engine import Engine
from streamsql.kafka.client import KafkaClient
from streamsql.results import Rows

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 300.0
SINKS = {
    "DELAY_BY_CARRIER_AND_HOUR",
    "DELAY_BY_ROUTE",
    "FLIGHTS_IN_CONTEXT",
    "DELAY_BY_AIRLINE_AND_WIND",
    "DELAY_BY_PLANE",
}
CONTEXT = """
    SELECT f.tailnum, f.origin, f.dest, f.dep_delay, f.arr_delay, a.name AS airline, w.wind_speed,
           CASE WHEN wind_speed >= 30 THEN '30 mph or more'
                WHEN wind_speed >= 20 THEN '20 to 30 mph'
                WHEN wind_speed >= 10 THEN '10 to 20 mph'
                WHEN wind_speed >= 0 THEN 'under 10 mph'
                ELSE 'not reported' END AS wind,
           coalesce(split_part(p.manufacturer, ' ', 1), 'unknown') AS manufacturer,
           CASE WHEN p.year <= 1993 THEN '20 years or more'
                WHEN p.year <= 2003 THEN '10 to 20 years'
                WHEN p.year > 2003 THEN 'under 10 years'
                ELSE 'unknown' END AS age
    FROM flights f
    LEFT JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
    LEFT JOIN airlines a ON f.carrier = a.carrier
    LEFT JOIN planes p ON f.tailnum = p.tailnum
"""


@pytest.fixture(scope="module")
def flights(
    engine: Engine,
    kafka: KafkaClient,
    run: Callable[[str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The queries of the example, over topics that are full."""
    feeder = Feeder(tmp_path_factory.mktemp("flights"), kafka)
    for topic, rows in prepare.year().tables().items():
        feeder.write(topic, rows)
    run((EXAMPLES / "flights" / "flights.sql").read_text("utf-8"))


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    """The package's own tables and, as `context`, their join."""
    connection = duckdb.connect()
    connection.register("flights", prepare.read())
    for name in ("weather", "airlines", "planes"):
        connection.register(name, prepare.read_other(name))
    connection.sql(f"CREATE TABLE context AS {CONTEXT}")
    return connection


def _table(engine: Engine, sql: str) -> view.Cells:
    """The table's rows once every flight is counted in it."""
    with LiveTable(engine, sql, 2) as table:
        table.wait_for(lambda rows: view.counted(rows) >= FLIGHTS, SECONDS)
        return table.rows()


def _equal(actual: view.Cells, expected: view.Cells) -> None:
    """Row by row; averages, at 4, may differ in their last digits, as sums of doubles do."""
    assert len(actual) == len(expected)
    for mine, theirs in zip(sorted(actual), sorted(expected), strict=True):
        exact = [i for i in range(len(theirs)) if i != 4]
        assert [mine[i] for i in exact] == [theirs[i] for i in exact]
        assert mine[4] == pytest.approx(theirs[4], rel=1e-12), (mine, theirs)


def test_by_carrier_and_hour(
    engine: Engine, flights: None, duck: duckdb.DuckDBPyConnection
) -> None:
    expected = duck.sql(
        """
        SELECT carrier, epoch_ms(time_hour), count(*), count(dep_delay),
               coalesce(avg(dep_delay), 0.0), max(dep_delay)  -- AVG of nothing is 0.0 in ksqlDB
        FROM flights GROUP BY carrier, time_hour
        """
    ).fetchall()
    _equal(_table(engine, view.HOURS), expected)


@pytest.mark.parametrize(
    ("sql", "group", "delay", "of"),
    [
        (view.ROUTES, "origin, dest", "arr_delay", "flights"),
        # The others group the rows of test_every_flight_in_its_context; `make demo` has them too.
        (view.WIND, "airline, wind", "dep_delay", "context"),
        (view.PLANES, "manufacturer, age", "arr_delay", "context"),
    ],
    ids=["by route", "by airline and wind", "by plane"],
)
def test_delays(
    engine: Engine,
    flights: None,
    duck: duckdb.DuckDBPyConnection,
    sql: str,
    group: str,
    delay: str,
    of: str,
) -> None:
    average = f"coalesce(avg({delay}), 0.0)"
    expected = duck.sql(
        f"SELECT {group}, count(*), count({delay}), {average} FROM {of} GROUP BY {group}"
    ).fetchall()
    _equal(_table(engine, sql), expected)


def test_every_flight_in_its_context(
    engine: Engine, kafka: KafkaClient, flights: None, duck: duckdb.DuckDBPyConnection
) -> None:
    """The joined stream, record by record."""
    _table(engine, view.WIND)
    topic = "FLIGHTS_IN_CONTEXT"
    records = list(kafka.consume(topic, until=kafka.end_offsets(topic)))
    assert len(records) == FLIGHTS
    rows = [json.loads(record.value or b"") for record in records]
    for row, record in zip(rows, records, strict=True):
        row["TAILNUM"] = record.key.decode() if record.key is not None else None
    names = duck.sql("SELECT * FROM context").columns
    joined = pa.table({name: [row[name.upper()] for row in rows] for name in names})
    duck.register("joined", joined)
    for one, other in (("joined", "context"), ("context", "joined")):
        missing = duck.sql(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}").fetchall()
        assert missing == []


def test_each_query_is_what_a_batch_makes(engine: Engine, flights: None) -> None:
    """VERIFY over all of them, where they have stopped; it refuses none."""
    for sql in (view.HOURS, view.ROUTES, view.WIND, view.PLANES):
        _table(engine, sql)
    queries = {q.sink: q.id for q in engine.queries() if q.sink in SINKS}
    assert queries.keys() == SINKS
    found = {sink: _verified(engine, query_id) for sink, query_id in queries.items()}
    assert all(found.values())
    assert {sink: kinds.keys() for sink, kinds in found.items()} == {
        sink: {"the same"} for sink in SINKS
    }
    assert found["FLIGHTS_IN_CONTEXT"] == {"the same": FLIGHTS}


def _verified(engine: Engine, query_id: str) -> dict[object, object]:
    """How many rows compare how, up to where the query is."""
    list(engine.execute(f"PAUSE {query_id};"))
    try:
        (found,) = engine.execute(f"VERIFY QUERY {query_id};")
    finally:
        list(engine.execute(f"RESUME {query_id};"))
    assert isinstance(found, Rows)
    return {kind: count for kind, count, _ in found.rows}


def test_the_demo_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        capture_output=True,
        text=True,
        cwd=EXAMPLES.parent,
        timeout=900,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{FLIGHTS:,} flights by carrier and hour, in 60,142 rows" in done.stdout
    assert f"{FLIGHTS:,} flights by route, in 224 rows" in done.stdout
