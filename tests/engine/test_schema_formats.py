"""Formats with schemas through a whole engine: declared, inferred, written, changed, restarted."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from engine.live import Live
from engine.offline import texts

from streamsql.errors import CatalogError, PlanError
from streamsql.registry.client import RegistryClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def described(live: Live, name: str) -> list[tuple[Any, ...]]:
    (rows,) = live.run(f"DESCRIBE ${name};")
    return list(rows.rows)


def test_a_pipeline_through_all_formats(live: Live, registry: RegistryClient) -> None:
    live.run(
        "CREATE STREAM $A (ID INT KEY, NAME STRING, TAGS ARRAY<STRING>, AT_ TIME) "
        "WITH (KAFKA_TOPIC='$A', FORMAT='AVRO', PARTITIONS=1);"
        "CREATE STREAM $P WITH (KAFKA_TOPIC='$P', FORMAT='PROTOBUF') AS SELECT * FROM $A;"
        "CREATE STREAM $N WITH (KAFKA_TOPIC='$N', FORMAT='PROTOBUF_NOSR') AS SELECT * FROM $P;"
        "CREATE STREAM $J WITH (KAFKA_TOPIC='$J', FORMAT='JSON_SR') AS SELECT * FROM $N;"
        "INSERT INTO $A VALUES (1, 'one', ARRAY['x', 'y'], '01:02:03');"
    )
    (row,) = live.rows("SELECT ID, NAME, TAGS, CAST(AT_ AS STRING) FROM $J EMIT CHANGES;", 1)
    assert row == (1, "one", ["x", "y"], "01:02:03")
    subjects = set(registry.subjects())
    for topic in ("$A", "$P", "$J"):
        name = live.sql(topic)
        assert {f"{name}-key", f"{name}-value"} <= subjects
    assert not any(live.sql("$N") in s for s in subjects)


def test_inferred_columns_outlive_a_restart(live: Live, registry: RegistryClient) -> None:
    registry.register(
        live.sql("$T-value"),
        "AVRO",
        '{"type": "record", "name": "R", "fields": [{"name": "firstName", "type": "string"}]}',
    )
    live.run(
        "CREATE STREAM $B (K INT KEY) WITH (KAFKA_TOPIC='$T', VALUE_FORMAT='AVRO', PARTITIONS=1);"
    )
    assert described(live, "B") == [("K", "INTEGER (key)"), ("FIRSTNAME", "STRING")]
    registry.delete(live.sql("$T-value"))
    live.restart()
    assert described(live, "B") == [("K", "INTEGER (key)"), ("FIRSTNAME", "STRING")]


def test_a_schema_that_the_subject_refuses(live: Live, registry: RegistryClient) -> None:
    registry.register(
        live.sql("$X-value"),
        "AVRO",
        '{"type": "record", "name": "Other", "fields": [{"name": "Z", "type": "int"}]}',
    )
    live.run("CREATE STREAM $Y (V INT) WITH (KAFKA_TOPIC='$Y', VALUE_FORMAT='JSON', PARTITIONS=1);")
    with pytest.raises(PlanError, match="Could not register schema for subject"):
        live.run(
            "CREATE STREAM $X WITH (KAFKA_TOPIC='$X', VALUE_FORMAT='AVRO') AS SELECT * FROM $Y;"
        )
    assert live.sql("$X") not in live.engine.catalog().sources


ALTERATIONS = {
    "JSON": ("DROP COLUMN a, ALTER COLUMN n TYPE DECIMAL(12, 1)", ("x", Decimal("1.0"), "y")),
    "DELIMITED": ("RENAME COLUMN a TO c, ALTER COLUMN n TYPE BIGINT", ("x", 7, 1, "y")),
    "AVRO": ("ALTER COLUMN n TYPE DOUBLE, DROP COLUMN a", ("x", 1.0, "y")),
    "JSON_SR": ("ALTER COLUMN n TYPE DECIMAL(12, 1), DROP COLUMN a", ("x", Decimal("1.0"), "y")),
    "PROTOBUF": ("ALTER n SET DATA TYPE BIGINT, DROP b", ("x", 7, 1)),
}


@pytest.mark.variants
@pytest.mark.parametrize("value_format", ALTERATIONS)
def test_columns_change_before_the_records(
    live: Live, registry: RegistryClient, value_format: str
) -> None:
    alterations, row = ALTERATIONS[value_format]
    live.run(
        "CREATE STREAM $C (id STRING KEY, a INT, n INT, b STRING) WITH (KAFKA_TOPIC='$C',"
        f" PARTITIONS=1, KEY_FORMAT='KAFKA', VALUE_FORMAT='{value_format}');"
        "INSERT INTO $C VALUES ('x', 7, 1, 'y');"
    )
    live.run(f"ALTER STREAM $C {alterations};")
    assert live.rows("SELECT * FROM $C EMIT CHANGES;", 1) == [row]
    live.run(f"INSERT INTO $C VALUES ({', '.join(map(repr, map(str, row)))});")
    assert live.rows("SELECT * FROM $C EMIT CHANGES;", 2) == [row, row]


def test_print_reads_registered_schemas(live: Live, registry: RegistryClient) -> None:
    live.run(
        "CREATE STREAM $Q (ID INT KEY, V DOUBLE) WITH (KAFKA_TOPIC='$Q', FORMAT='AVRO', "
        "PARTITIONS=1);"
        "INSERT INTO $Q VALUES (7, 2.5);"
    )
    lines = list(live.lines("PRINT '$Q' FROM BEGINNING LIMIT 1;"))
    assert lines[:2] == ["Key format: AVRO", "Value format: AVRO"]
    assert 'key: 7, value: {"V": 2.5}' in lines[2]


def test_delete_topic_deletes_its_schemas(live: Live, registry: RegistryClient) -> None:
    live.run(
        "CREATE STREAM $D (V INT) WITH (KAFKA_TOPIC='$D', VALUE_FORMAT='JSON_SR', PARTITIONS=1);"
    )
    assert registry.exists(live.sql("$D-value"))
    results = live.run("DROP STREAM $D DELETE TOPIC;")
    assert texts(results)
    assert not registry.exists(live.sql("$D-value"))


def test_assert_schema(live: Live, registry: RegistryClient) -> None:
    id = registry.register(live.sql("$S-value"), "AVRO", '"string"')
    subject = live.sql("$S-value")
    assert live.texts(f"ASSERT SCHEMA SUBJECT '{subject}' ID {id};") == [
        f"Schema with subject name {subject} id {id} exists."
    ]
    assert live.texts("ASSERT NOT EXISTS SCHEMA ID 999;") == ["Schema with id 999 does not exist."]
    with pytest.raises(CatalogError, match="Schema with subject name Nothing does not exist"):
        live.run("ASSERT SCHEMA SUBJECT Nothing TIMEOUT 1 SECOND;")
    with pytest.raises(CatalogError, match=f"Schema with id {id} exists"):
        live.run(f"ASSERT NOT EXISTS SCHEMA ID {id};")
