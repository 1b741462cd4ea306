"""What INSERT .. VALUES writes: the same bytes whether Python or Spark computes the record."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from streamsql.catalog import Catalog
from streamsql.executor.frames.constants import evaluate_record
from streamsql.parser import parse
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import apply, plan
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.values.records import key_encoder, value_encoder

FLAT = "b BOOLEAN, i INT, l BIGINT, d DOUBLE, m DECIMAL(6, 2), s STRING, y BYTES, "
FLAT += "dt DATE, tm TIME, ts TIMESTAMP"
NESTED = "a ARRAY<INT>, mp MAP<STRING, DOUBLE>, st STRUCT<x INT, y STRING, z ARRAY<DATE>>"
ROW = "TRUE, -5, 5000000000, 1e10, 12.5, 'ä \"quoted\"', 'aGVsbG8=', '2024-02-29', '12:34:56', "
ROW += "'2024-02-29T01:02:03.456'"

CASES = {
    "json": (
        f"k STRING KEY, {FLAT}, {NESTED}",
        "JSON",
        "JSON",
        f"'key', {ROW}, ARRAY[1, NULL], "
        "MAP('one' := 1.5), STRUCT(x := 1, y := 'why', z := ARRAY['2000-01-01'])",
    ),
    "json of nulls": (
        "k INT KEY, v STRING, w DOUBLE",
        "KAFKA",
        "JSON",
        "NULL, NULL, CAST(NULL AS DOUBLE)",
    ),
    "several keys": ("k INT KEY, l STRING KEY, v INT", "JSON", "JSON", "1, NULL, 2"),
    "numbers": (
        "k DOUBLE KEY, v DOUBLE, w DOUBLE, x DECIMAL(10, 0)",
        "JSON",
        "JSON",
        "0.1, 1e-7, 123456789.0, 12",
    ),
    "delimited": (f"k STRING KEY, {FLAT}", "KAFKA", "DELIMITED", f"'key', {ROW}"),
    "delimited text": (
        "k STRING KEY, a STRING, b STRING, c STRING, d STRING",
        "DELIMITED",
        "DELIMITED",
        "'a,b', '', ' x', 'say \"hi\"', NULL",
    ),
    "delimited first": (
        "k INT KEY, a DOUBLE, b DOUBLE",
        "DELIMITED",
        "DELIMITED",
        "-7, -1e0, -1e0",
    ),
    "delimited decimal": (
        "k STRING KEY, a DECIMAL(4, 1), b DECIMAL(4, 1)",
        "DELIMITED",
        "DELIMITED",
        "'_x', -7.5, -7.5",
    ),
    "kafka int": ("k INT KEY, v INT", "KAFKA", "KAFKA", "-7, 7"),
    "kafka bigint": ("k BIGINT KEY, v BIGINT", "KAFKA", "KAFKA", "-7, 7000000000"),
    "kafka double": ("k DOUBLE KEY, v DOUBLE", "KAFKA", "KAFKA", "1.5, -0.25"),
    "kafka text": ("k STRING KEY, v STRING", "KAFKA", "KAFKA", "'ß', ''"),
}


def planned(columns: str, key_format: str, value_format: str, values: str) -> InsertValuesPlan:
    catalog = Catalog()
    create = (
        f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='s', KEY_FORMAT='{key_format}', "
        f"VALUE_FORMAT='{value_format}');"
    )
    (statement,) = parse(create)
    apply(plan(statement, catalog, {}, RememberedTopics({"s": (1, 1)})), catalog)
    (insert,) = parse(f"INSERT INTO s VALUES ({values});")
    found = plan(insert, catalog, {})
    assert isinstance(found, InsertValuesPlan)
    return found


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_python_and_spark_agree(case: tuple[str, str, str, str], spark: SparkSession) -> None:
    insert = planned(*case)
    values = [evaluate_constant(e) for e in insert.expressions]
    assert NOT_CONSTANT not in values
    cells = dict(zip(insert.columns, values, strict=True))
    topic, schema = insert.source.topic, insert.source.schema
    written = key_encoder(topic, schema)(cells), value_encoder(topic, schema)(cells)
    assert written == evaluate_record(spark, insert)[:2]


def test_a_key_of_nulls_is_no_key() -> None:
    insert = planned("k INT KEY, v INT", "KAFKA", "JSON", "NULL, 1")
    encode = key_encoder(insert.source.topic, insert.source.schema)
    assert encode({"K": None, "V": 1}) is None
