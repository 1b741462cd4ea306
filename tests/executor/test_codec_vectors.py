"""The JVM codecs write and read the vectors that the Python forms are held to as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.catalog import Source
from streamsql.executor.frames.encode_rows import encode_rows
from streamsql.executor.frames.records import value_side
from streamsql.executor.spark.jvm import Jvm, SideFormat
from streamsql.parser import parse_type
from streamsql.registry.serdes import Schemas
from streamsql.schema import Column, FormatSpec, Kind, Schema, Topic
from streamsql.values.wire import decoder

pytestmark = pytest.mark.spark

VECTORS = json.loads((Path(__file__).parent.parent / "cases/codecs/values.json").read_text())
FORMATS = ("JSON", "DELIMITED", "KAFKA")


def source(vectors: list[Mapping[str, Any]], name: str) -> Source:
    """A stream whose value is one column."""
    schema = Schema((Column("V", parse_type(vectors[0]["type"])),))
    topic = Topic("t", FormatSpec("NONE"), FormatSpec(name))
    return Source("S", Kind.STREAM, schema, topic)


def groups(name: str) -> list[list[Mapping[str, Any]]]:
    """The vectors of each type that the format holds: a Spark job each."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for vector in VECTORS:
        if name in vector:
            found.setdefault(vector["type"], []).append(vector)
    return list(found.values())


def expected(vector: Mapping[str, Any], name: str) -> bytes:
    return bytes.fromhex(vector[name]) if name == "KAFKA" else vector[name].encode()


@pytest.mark.parametrize("name", FORMATS)
def test_records_are_written(spark: SparkSession, name: str) -> None:
    for vectors in groups(name):
        decode = decoder(parse_type(vectors[0]["type"]))
        rows = [{"V": decode(vector["wire"])} for vector in vectors]
        written = encode_rows(spark, source(vectors, name), rows, Schemas().writing)
        assert [value for _, value in written] == [expected(v, name) for v in vectors]


@pytest.mark.parametrize("name", FORMATS)
def test_records_are_read(spark: SparkSession, name: str) -> None:
    """What is read is written again as it was: reading alone loses nothing."""
    jvm, nothing = Jvm(spark), SideFormat("NONE", StructType())
    for vectors in groups(name):
        found = source(vectors, name)
        side = value_side(found.topic, found.schema, Schemas().writing)
        frame = spark.createDataFrame(pa.table({"v": [expected(v, name) for v in vectors]}))
        inputs = frame.coalesce(1).select(
            F.lit(None).cast("binary").alias("k"),
            "v",
            F.lit("t").alias("t"),
            F.lit(0).alias("p"),
            F.lit(0).cast("bigint").alias("o"),
        )
        decoded = jvm.decode(nothing, side, None, "S", ["k", "v", "t", "p", "o"])
        again = jvm.encode(F.struct(F.col("d.V").alias("V")), side)
        rows = inputs.select(decoded.alias("d")).select(again.alias("b")).collect()
        read = [v for v in vectors if not _is_null(v, name)]
        assert [bytes(row.b) for row in rows if row.b is not None] == [
            expected(v, name) for v in read
        ]


def _is_null(vector: Mapping[str, Any], name: str) -> bool:
    """DELIMITED has one form for an empty text and for null."""
    return name == "DELIMITED" and vector["text"] == ""
