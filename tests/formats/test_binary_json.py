"""Avro and Protobuf as JSON and back, against fastavro and Google's own Protobuf."""

from __future__ import annotations

import io
import json
import struct
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from formats.test_schema_cases import columns_of

from streamsql.formats import FORMATS
from streamsql.formats.avro_json import avro_from_json, avro_to_json
from streamsql.formats.protobuf_json import indexes_of, protobuf_from_json, protobuf_to_json
from streamsql.formats.registered import SchemaText
from streamsql.registry.framing import framed_to_json, json_to_framed

DDL = (
    "I INT, L BIGINT, D DOUBLE, F BOOLEAN, S STRING, B BYTES, P DECIMAL(6, 2), DA DATE, TI TIME, "
    "TS TIMESTAMP, A ARRAY<STRING>, M MAP<STRING, BIGINT>, Q STRUCT<X INT, Y ARRAY<INT>>"
)
VALUE = {
    "I": -7,
    "L": 5_000_000_000,
    "D": 2.5,
    "F": True,
    "S": "zwölf",
    "B": "AQI=",
    "P": Decimal("-12.30"),
    "DA": -1,
    "TI": 3_661_001,
    "TS": -1,
    "A": ["a", ""],
    "M": {"k": 1},
    "Q": {"X": 1, "Y": [2, -3]},
}


def schema(name: str, **options: str) -> SchemaText:
    chosen = FORMATS[name]
    text = chosen.schema_of(columns_of(DDL), options, wrapped=True)
    return SchemaText(chosen.schema_type or "", text, id=258)


def test_avro_there_and_back() -> None:
    avro = schema("AVRO")
    data = avro_from_json(avro, VALUE)
    assert avro_to_json(avro, data) == VALUE
    nothing = dict.fromkeys(VALUE)
    assert avro_to_json(avro, avro_from_json(avro, nothing)) == nothing
    read: Any = fastavro.schemaless_reader(io.BytesIO(data), json.loads(avro.text))
    assert (read["I"], read["P"], read["M"]) == (-7, Decimal("-12.30"), [{"key": "k", "value": 1}])
    out = io.BytesIO()
    fastavro.schemaless_writer(out, json.loads(avro.text), read)
    assert out.getvalue() == data


def test_protobuf_references_in_any_order() -> None:
    inner = 'syntax = "proto3"; package inn; message Inner { int32 x = 1; }'
    middle = 'syntax = "proto3"; import public "in.proto"; message Middle { inn.Inner inner = 1; }'
    text = 'syntax = "proto3"; import "mid.proto"; message M { Middle m = 1; inn.Inner i = 2; }'
    value = {"m": {"inner": {"x": 1}}, "i": {"x": 2}}
    texts = {"mid.proto": middle, "in.proto": inner}
    for names in (["mid.proto", "in.proto"], ["in.proto", "mid.proto"]):
        found = SchemaText("PROTOBUF", text, {name: texts[name] for name in names})
        assert protobuf_to_json(found, protobuf_from_json(found, value)) == value


def test_avro_unions_references_and_names_in_any_case() -> None:
    point = '{"type": "record", "name": "P", "fields": [{"name": "X", "type": "int"}]}'
    text = (
        '{"type": "record", "name": "R", "fields": [{"name": "U", "type": ["int", "string", "P"]}, '
        '{"name": "E", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, '
        '{"name": "N", "type": "float", "default": 1.5}]}'
    )
    avro = SchemaText("AVRO", text, {"P": point})
    for given in (1, "text", {"x": 3}):
        written = avro_from_json(avro, {"u": given, "e": "B"})
        expected = {"X": 3} if isinstance(given, dict) else given
        assert avro_to_json(avro, written) == {"U": expected, "E": "B", "N": 1.5}


@pytest.mark.parametrize(
    ("type", "value", "data"),
    [
        ('"int"', "-3", b"\5"),
        ('["null", "long"]', 64, b"\2\x80\1"),
        ('["int", "string"]', "64", b"\2\x0464"),
        ('["string", "null"]', 5, b"\0\0025"),
        ('["null", "double"]', Decimal("2.5"), b"\2" + struct.pack("<d", 2.5)),
        ('"float"', "NaN", b"\0\0\xc0\x7f"),
        ('{"type": "fixed", "name": "F", "size": 2}', "AQI=", b"\1\2"),
        (
            '{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}',
            "-2.56",
            b"\4\xff\0",
        ),
        ('{"type": "array", "items": "T"}', {"a": 1}, b"\2\2a\2\0"),
        ('{"type": {"type": "array", "items": ["null", "T"]}}', [None], b"\2\0\0"),
    ],
)
def test_a_value_and_its_avro(type: str, value: Any, data: bytes) -> None:
    entry = '[{"name": "key", "type": "string"}, {"name": "value", "type": "int"}]'
    named = f'{{"type": "record", "name": "T", "fields": {entry}}}'
    avro = SchemaText("AVRO", type, {"T": named})
    assert avro_from_json(avro, value) == data
    assert avro_from_json(avro, avro_to_json(avro, data)) == data


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ('"int"', "three"),
        ('["null", "int"]', "three"),
        ('["int", "boolean"]', "true"),
        ('{"type": "enum", "name": "E", "symbols": ["A"]}', "B"),
        ('{"type": "record", "name": "R", "fields": [{"name": "A", "type": "int"}]}', {}),
        ('{"type": "record", "name": "R", "fields": []}', 1),
    ],
)
def test_what_has_no_avro(type: str, value: Any) -> None:
    with pytest.raises(ValueError, match="does not fit its Avro schema"):
        avro_from_json(SchemaText("AVRO", type), value)


def test_protobuf_there_and_back() -> None:
    for options in ({}, {"nullable": "OPTIONAL"}, {"nullable": "WRAPPER"}):
        protobuf = schema("PROTOBUF", **options)
        assert protobuf_to_json(protobuf, protobuf_from_json(protobuf, VALUE)) == VALUE
        unset = protobuf_to_json(protobuf, b"")
        scalars = [unset[name] for name in ("I", "L", "D", "F", "S")]
        assert scalars == ([None] * 5 if options else [0, 0, 0.0, False, ""])
        assert (unset["B"], unset["P"], unset["A"], unset["M"]) == (None, None, [], {})


def test_a_message_by_its_name() -> None:
    text = 'syntax = "proto3"; package p; message A {} message B { message C { int32 x = 1; } }'
    found = SchemaText("PROTOBUF", text, id=1)
    assert indexes_of(found, "p.B.C") == (1, 0)
    framed = json_to_framed(found, {"x": 5}, json.dumps, "p.B.C")
    assert framed == b"\0\0\0\0\1\4\2\0\x08\5"
    assert framed_to_json(framed, lambda id: found if id == 1 else None) == {"x": 5}
    with pytest.raises(ValueError, match="no message p.X"):
        indexes_of(found, "p.X")


def test_what_is_no_record() -> None:
    avro = schema("AVRO")
    framed = json_to_framed(avro, VALUE, json.dumps)
    assert framed_to_json(framed, {258: avro}.get) == VALUE
    for data, why in (
        (b"", "does not begin with the id"),
        (b"\1" + framed[1:], "does not begin with the id"),
        (b"\0\0\0\0\7", "no schema has the id 7"),
        (framed[:-1], "invalid Avro"),
        (framed + b"\0", "bytes after the end"),
    ):
        with pytest.raises(ValueError, match=why):
            framed_to_json(data, {258: avro}.get)
    with pytest.raises(ValueError, match="invalid Protobuf"):
        protobuf_to_json(schema("PROTOBUF"), b"\x0a\x7f")
