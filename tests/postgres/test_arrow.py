"""ADBC, which reads results as Arrow, on rows made up."""

from __future__ import annotations

from datetime import UTC, date, datetime

import adbc_driver_postgresql.dbapi as adbc
from postgres.stand_in import StandInListener


def test_adbc_reads_and_describes(stand_in: StandInListener) -> None:
    url = f"postgresql://ann@127.0.0.1:{stand_in.port}/streamsql"
    with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT sensor, n, big, share, good, day, seen, tags FROM readings")
        first, second = cursor.fetch_arrow_table().to_pylist()
        assert first == {
            "sensor": "a",
            "n": 1,
            "big": 2**40,
            "share": 0.25,
            "good": True,
            "day": date(2024, 2, 29),
            "seen": datetime(2024, 2, 29, 12, 0, 0, 123_000, tzinfo=UTC),
            "tags": ["x", None, 'y "z"', ""],
        }
        assert second["sensor"] == "b" and second["tags"] is None
        cursor.execute("SELECT sensor FROM readings WHERE n = $1", (5,))
        assert cursor.fetchall() == [("a",), ("b",)]
        assert stand_in.engine.ran[-1] == "SELECT sensor FROM readings WHERE n = 5"
        schema = connection.adbc_get_table_schema("readings")
        kinds = {name: str(schema.field(name).type) for name in ("sensor", "n", "seen", "tags")}
        assert kinds == {
            "sensor": "string",
            "n": "int32",
            "seen": "timestamp[us, tz=UTC]",
            "tags": "list<item: string>",
        }
        found = connection.adbc_get_objects(depth="all", table_name_filter="totals").read_all()
        (table,) = found.to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"]
        assert {column["column_name"] for column in table["table_columns"]} == {"sensor", "n"}
        (key,) = table["table_constraints"]
        assert (key["constraint_name"], key["constraint_column_names"]) == (
            "totals_pkey",
            ["sensor"],
        )
