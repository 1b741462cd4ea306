"""AVRO, PROTOBUF and JSON_SR against the serializers and deserializers of confluent-kafka: what
they write is read, and what is written here they read."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from executor.test_codecs import NOTHING, columns, decode, encode, refusal
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.type import date_pb2
from py4j import java_gateway
from py4j.protocol import Py4JJavaError, get_return_value
from pyspark.sql import SparkSession

from streamsql.executor.frames.records import value_side
from streamsql.executor.spark.jvm import Jvm, SideFormat
from streamsql.formats.proto_parser import parse_proto
from streamsql.parser import parse_one
from streamsql.registry.serdes import Schemas
from streamsql.schema import Column, FormatSpec, Topic
from streamsql.schema import Schema as Columns
from streamsql.test_driver.registries import CaseRegistry

pytestmark = pytest.mark.spark

CONTEXT = SerializationContext("t", MessageField.VALUE)
ALL = (
    "I INT, L BIGINT, D DOUBLE, F BOOLEAN, S STRING, B BYTES, P DECIMAL(6, 2), DA DATE, TI TIME, "
    "TS TIMESTAMP, A ARRAY<STRING>, M MAP<STRING, BIGINT>, Q STRUCT<X INT, Y ARRAY<INT>>"
)
VALUES = (
    "7",
    "5000000000",
    "2.5",
    "true",
    "'zwölf'",
    "X'0102'",
    "12.30",
    "DATE'2020-02-03'",
    "3661001",
    "TIMESTAMP'2021-01-02 03:04:05.678'",
    "array('a', null, '')",
    "map('k', 1, 'n', null)",
    "named_struct('X', 1, 'Y', array(2, 3))",
)
X = {"name": "x", "type": "int"}
WITHOUT_NULLS = (*VALUES[:10], "array('a', '')", "map('k', 1)", VALUES[12])


@pytest.fixture
def registry() -> CaseRegistry:
    """A registry that checks nothing and knows nothing yet."""
    registry = CaseRegistry([])
    registry.store.set_mode(None, "READWRITE")
    return registry


@pytest.fixture
def confluent(registry: CaseRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.client.url}) as client:
        yield client


def side(
    registry: CaseRegistry, name: str, ddl: str, *, write: bool = False, **options: str
) -> SideFormat:
    """The value of a topic, as a query would read or write it."""
    statement: Any = parse_one(f"CREATE STREAM S ({ddl}) WITH (KAFKA_TOPIC='t');")
    schema = Columns(tuple(Column(c.name, c.type) for c in statement.columns))
    topic = Topic("t", FormatSpec("NONE"), FormatSpec(name, options))
    schemas = Schemas(lambda: registry.client)
    return value_side(topic, schema, schemas.writing if write else schemas.reading)


def test_avro_of_ours_is_read_by_others(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    data = encode(spark, side(registry, "AVRO", ALL, write=True), *VALUES)
    assert AvroDeserializer(confluent)(data, CONTEXT) == {
        "I": 7,
        "L": 5_000_000_000,
        "D": 2.5,
        "F": True,
        "S": "zwölf",
        "B": b"\1\2",
        "P": Decimal("12.30"),
        "DA": datetime.date(2020, 2, 3),
        "TI": datetime.time(1, 1, 1, 1000),
        "TS": datetime.datetime(2021, 1, 2, 3, 4, 5, 678000, datetime.UTC),
        "A": ["a", None, ""],
        "M": [{"key": "k", "value": 1}, {"key": "n", "value": None}],
        "Q": {"X": 1, "Y": [2, 3]},
    }
    nothing = encode(spark, side(registry, "AVRO", ALL, write=True), *["NULL"] * 13)
    assert set(AvroDeserializer(confluent)(nothing, CONTEXT).values()) == {None}


def test_avro_of_others_is_read(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    fields = [
        {"name": "unknown", "type": {"type": "map", "values": {"type": "array", "items": "long"}}},
        {"name": "i", "type": "int"},
        {"name": "L", "type": "int"},
        {"name": "d", "type": "float"},
        {"name": "s", "type": {"type": "enum", "name": "E", "symbols": ["RED", "BLUE"]}},
        {"name": "b", "type": {"type": "fixed", "name": "X", "size": 2}},
        {
            "name": "p",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1},
        },
        {"name": "da", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ti", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "m", "type": {"type": "map", "values": "int"}},
        {
            "name": "q",
            "type": [
                "null",
                {"type": "record", "name": "Q", "fields": [{"name": "x", "type": "int"}]},
            ],
        },
    ]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    value = {
        "unknown": {"a": [1, 2]},
        "i": -3,
        "L": 4,
        "d": 0.5,
        "s": "BLUE",
        "b": b"xy",
        "p": Decimal("1.5"),
        "da": datetime.date(1969, 12, 31),
        "ti": datetime.time(0, 0, 1),
        "ts": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.UTC),
        "m": {"k": 9},
        "q": {"x": 1},
    }
    data = AvroSerializer(confluent, schema)(value, CONTEXT)
    assert columns(decode(spark, data, side(registry, "AVRO", ALL))) == [
        *(-3, 4, 0.5, None, "BLUE", bytearray(b"xy"), Decimal("1.50")),
        *(datetime.date(1969, 12, 31), 1000),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
        *(None, {"k": 9}, {"X": 1, "Y": None}),
    ]


def test_avro_that_refers_to_another_schema(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    point = '{"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}'
    confluent.register_schema("point", Schema(point, "AVRO"))
    line = '{"type": "record", "name": "Line", "fields": [{"name": "q", "type": "Point"}]}'
    schema = Schema(line, "AVRO", [SchemaReference("Point", "point", 1)])
    data = AvroSerializer(confluent, schema)({"q": {"x": 5}}, CONTEXT)
    assert columns(decode(spark, data, side(registry, "AVRO", "Q STRUCT<X INT>"))) == [{"X": 5}]


def message_class(text: str, name: str, *files: Any) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file.DESCRIPTOR.serialized_pb)
    parsed = parse_proto(text, "m.proto")
    pool.AddSerializedFile(parsed.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def test_protobuf_of_ours_is_read_by_others(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    data = encode(spark, side(registry, "PROTOBUF", ALL, write=True), *WITHOUT_NULLS)
    text = """syntax = "proto3";
        import "google/type/date.proto"; import "google/protobuf/timestamp.proto";
        message ConnectDefault1 {
          int32 I = 1; int64 L = 2; double D = 3; bool F = 4; string S = 5; bytes B = 6;
          Number P = 7; google.type.Date DA = 8; Clock TI = 9; google.protobuf.Timestamp TS = 10;
          repeated string A = 11; map<string, int64> M = 12; Inner Q = 13;
          message Inner { int32 X = 1; repeated int32 Y = 2; }
          message Number { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
          message Clock { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
        }"""
    kind = message_class(text, "ConnectDefault1", date_pb2, timestamp_pb2)
    found = ProtobufDeserializer(kind, {"use.deprecated.format": False})(data, CONTEXT)
    assert (found.I, found.L, found.D, found.F) == (7, 5_000_000_000, 2.5, True)
    assert (found.S, found.B, list(found.A), dict(found.M)) == (
        "zwölf",
        b"\1\2",
        ["a", ""],
        {"k": 1},
    )
    assert (found.P.value, found.P.precision, found.P.scale) == (b"\x04\xce", 6, 2)
    assert (found.DA.year, found.DA.month, found.DA.day) == (2020, 2, 3)
    assert (found.TI.hours, found.TI.minutes, found.TI.seconds) == (1, 1, 1)
    assert found.TI.nanos == 1_000_000
    assert found.TS.ToMilliseconds() == 1_609_556_645_678
    assert (found.Q.X, list(found.Q.Y)) == (1, [2, 3])


def test_protobuf_of_others_is_read(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    """The second message of its file, one that lies inside of another at that."""
    text = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
        message Other { int32 a = 1; }
        message Outer { message Order {
          uint32 l = 1; sint32 i = 2; float d = 3; repeated sint64 a = 4; map<string, Line> m = 5;
          Kind s = 6; google.protobuf.Timestamp ts = 7; Line q = 8; fixed64 extra = 9;
          optional bool f = 10; }
          message Line { int32 x = 1; repeated int32 y = 2; }
          enum Kind { NEW = 0; OLD = 1; }
          map<string, Line> lines = 1; } """
    kind = message_class(text, "shop.Outer.Order", timestamp_pb2)
    message = kind(l=4_000_000_000, i=-2, d=0.25, a=[-1, 1], s=1, extra=9)
    message.m["k"].x = 3
    message.ts.FromMilliseconds(-1)
    message.q.y.extend([1, 2])
    options = {"use.deprecated.format": False, "auto.register.schemas": True}
    data = ProtobufSerializer(kind, confluent, options)(message, CONTEXT)
    ddl = (
        "L BIGINT, I INT, D DOUBLE, A ARRAY<BIGINT>, M MAP<STRING, STRUCT<X INT>>, S STRING, "
        "TS TIMESTAMP, Q STRUCT<X INT, Y ARRAY<INT>>, F BOOLEAN, NONE STRING"
    )
    assert columns(decode(spark, data, side(registry, "PROTOBUF", ddl))) == [
        *(4_000_000_000, -2, 0.25, [-1, 1], {"k": {"X": 3}}, "OLD"),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
        *({"X": 0, "Y": [1, 2]}, None, None),
    ]


IMPORTED = {
    "in.proto": 'syntax = "proto3"; package inn; message Inner { int32 x = 1; }',
    "mid.proto": """syntax = "proto3"; import public "in.proto";
        message Middle { inn.Inner part = 1; }""",
}
IMPORTING = 'syntax = "proto3"; import "mid.proto"; message M { Middle m = 1; inn.Inner i = 2; }'


def test_protobuf_that_imports(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    """The files imported are schemas of their own, to which those that import them refer."""
    pool = descriptor_pool.DescriptorPool()
    for name, text in {**IMPORTED, "m.proto": IMPORTING}.items():
        pool.AddSerializedFile(parse_proto(text, name).SerializeToString())
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("M"))()
    message.m.part.x, message.i.x = 1, 2
    options = {"use.deprecated.format": False, "auto.register.schemas": True}
    data = ProtobufSerializer(type(message), confluent, options)(message, CONTEXT)
    columns_read = "M STRUCT<PART STRUCT<X INT>>, I STRUCT<X INT>"
    expected = [{"PART": {"X": 1}}, {"X": 2}]
    assert columns(decode(spark, data, side(registry, "PROTOBUF", columns_read))) == expected


def test_protobuf_that_refers_to_all_that_is_imported(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    """In the order in which they were come upon, and nothing refers to anything but that."""
    references = []
    for name in ("mid.proto", "in.proto"):
        confluent.register_schema(name, Schema(IMPORTED[name], "PROTOBUF"))
        references.append(SchemaReference(name, name, 1))
    id = confluent.register_schema("t-value", Schema(IMPORTING, "PROTOBUF", references))
    data = b"\0" + id.to_bytes(4, "big") + b"\0" + b"\x0a\x04\x0a\x02\x08\x01\x12\x02\x08\x02"
    reading = side(registry, "PROTOBUF", "M STRUCT<PART STRUCT<X INT>>, I STRUCT<X INT>")
    assert columns(decode(spark, data, reading)) == [{"PART": {"X": 1}}, {"X": 2}]


@pytest.mark.parametrize("nullable", ["OPTIONAL", "WRAPPER"])
def test_protobuf_that_tells_null_from_zero(
    spark: SparkSession, registry: CaseRegistry, nullable: str
) -> None:
    ddl = "I INT, S STRING, F BOOLEAN, D DOUBLE"
    target = side(registry, "PROTOBUF", ddl, write=True, nullable=nullable)
    for given, expected in (
        (("0", "''", "false", "0"), [0, "", False, 0.0]),
        (("NULL",) * 4, [None] * 4),
    ):
        data = encode(spark, target, *given)
        assert columns(decode(spark, data, side(registry, "PROTOBUF", ddl))) == expected


def test_protobuf_without_a_registry(spark: SparkSession, registry: CaseRegistry) -> None:
    nosr = side(registry, "PROTOBUF_NOSR", ALL)
    data = encode(spark, nosr, *WITHOUT_NULLS)
    again = columns(decode(spark, data, nosr))
    framed = encode(spark, side(registry, "PROTOBUF", ALL, write=True), *WITHOUT_NULLS)
    assert framed is not None and data == framed[6:]
    assert columns(decode(spark, framed, side(registry, "PROTOBUF", ALL))) == again
    assert columns(decode(spark, b"", nosr))[:5] == [0, 0, 0.0, False, ""]


def test_json_of_ours_is_read_by_others(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    data = encode(spark, side(registry, "JSON_SR", ALL, write=True), *VALUES)
    assert JSONDeserializer(None, schema_registry_client=confluent)(data, CONTEXT) == {
        "I": 7,
        "L": 5_000_000_000,
        "D": 2.5,
        "F": True,
        "S": "zwölf",
        "B": "AQI=",
        "P": 12.3,
        "DA": 18295,
        "TI": 3_661_001,
        "TS": 1_609_556_645_678,
        "A": ["a", None, ""],
        "M": {"k": 1, "n": None},
        "Q": {"X": 1, "Y": [2, 3]},
    }


def test_json_of_others_is_read(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    schema = '{"type": "object", "title": "R", "properties": {"i": {"type": "integer"}}}'
    data = JSONSerializer(schema, confluent)({"i": 5}, CONTEXT)
    assert columns(decode(spark, data, side(registry, "JSON_SR", "I INT, S STRING"))) == [5, None]


def test_a_lone_column_stands_for_itself(spark: SparkSession, registry: CaseRegistry) -> None:
    for name in ("AVRO", "JSON_SR"):
        target = side(registry, name, "A ARRAY<INT>", write=True, wrap="false")
        reader = side(registry, name, "A ARRAY<INT>", wrap="false")
        assert columns(decode(spark, encode(spark, target, "array(1, null)"), reader)) == [
            [1, None]
        ]
        assert encode(spark, target, "NULL") is None


def test_records_that_are_refused(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    avro = side(registry, "AVRO", "I INT")
    assert refusal(spark, "x", avro).endswith("the record does not begin with the id of a schema")
    assert refusal(spark, "\0\0\0\0\7", avro).endswith(
        "the schema registry has no schema with the id 7"
    )
    confluent.register_schema("a", Schema('"string"', "AVRO"))
    lone = side(registry, "AVRO", "I INT", wrap="false")
    assert refusal(spark, "\0\0\0\0\1\2x", lone).endswith("$.I: expected INT, found Avro string")
    text = side(registry, "AVRO", "S STRING", wrap="false")
    assert refusal(spark, "\0\0\0\0\1\6x", text).startswith("cannot read the value")
    assert "bytes after the end" in refusal(spark, "\0\0\0\0\1\2xy", text)
    protobuf = side(registry, "PROTOBUF", "I INT")
    assert refusal(spark, "\0\0\0\0\1\0", protobuf).endswith(
        "the record's schema is of type AVRO, not PROTOBUF"
    )
    confluent.register_schema(
        "p", Schema('syntax = "proto3"; message M {int32 i = 1;}', "PROTOBUF")
    )
    assert "invalid Protobuf" in refusal(spark, "\0\0\0\0\2\0\x08", protobuf)
    assert "no message [3]" in refusal(spark, "\0\0\0\0\2\2\6", protobuf)


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_no_bytes_break_a_decoder(
    spark: SparkSession, registry: CaseRegistry, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever the bytes, there is a row or a reason why there is none."""
    # PySpark's own makes some twenty calls for each of hundreds of errors.
    monkeypatch.setattr(java_gateway, "get_return_value", get_return_value)
    jvm: Any = spark._jvm
    topic = jvm.org.apache.spark.unsafe.types.UTF8String.fromString("t")
    valid = encode(spark, side(registry, name, ALL, write=True), *WITHOUT_NULLS)
    assert valid is not None
    decoder = Jvm(spark).decoder(NOTHING, side(registry, name, ALL), None, "Source")
    random = Random(7)
    read = 0
    for _ in range(400):
        data = bytearray(valid)
        for _ in range(random.randint(1, 4)):
            data[random.randrange(5, len(data))] = random.randrange(256)
        if random.random() < 0.3:
            del data[random.randrange(5, len(data)) :]
        try:
            decoder.decode(None, bytes(data), topic, 0, 0)
            read += 1
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage())
            assert reason.startswith("cannot read the value of t partition 0 offset 0: "), reason
    assert 0 < read < 400


def test_a_given_schema_that_allows_no_null_says_so(
    spark: SparkSession, registry: CaseRegistry, confluent: SchemaRegistryClient
) -> None:
    fields = '[{"name": "i", "type": "int"}, {"name": "more", "type": "int", "default": 9}]'
    record = f'{{"type": "record", "name": "R", "fields": {fields}}}'
    id = confluent.register_schema("given", Schema(record, "AVRO"))
    target = side(registry, "AVRO", "I INT", write=True, schema_id=str(id))
    data = encode(spark, target, "5")
    assert AvroDeserializer(confluent)(data, CONTEXT) == {"i": 5, "more": 9}
    with pytest.raises(Exception, match="the Avro schema does not allow null for I"):
        encode(spark, target, "NULL")
