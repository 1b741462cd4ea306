"""Record formats: bytes to columns and back, and which records are refused with what message."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from streamsql.executor.spark.jvm import NULL_VALUE, Jvm, SideFormat

pytestmark = pytest.mark.spark

NOTHING = SideFormat("NONE", StructType([]))
TIME = {"sql": "TIME"}
TIMES = StructType(
    [
        StructField("T", LongType(), True, TIME),
        StructField("TS", ArrayType(LongType()), True, {"sql": "ARRAY<TIME>"}),
        StructField("M", MapType(StringType(), LongType()), True, {"sql": "MAP<STRING, TIME>"}),
    ]
)


def side(name: str, columns: str | StructType, **properties: str) -> SideFormat:
    schema = StructType.fromDDL(columns) if isinstance(columns, str) else columns
    assert isinstance(schema, StructType)
    return SideFormat(name, schema, {k.replace("_", "."): v for k, v in properties.items()})


@dataclass(frozen=True)
class Record:
    """The bytes of a record and how its sides are to be read."""

    value: bytes | None
    value_side: SideFormat
    key: bytes | None = None
    key_side: SideFormat = NOTHING


def decode_all(spark: SparkSession, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The records through their decoders in one Spark task; a refused one raises."""
    jvm = Jvm(spark)
    inputs = [F.lit("t").alias("t"), F.lit(0).alias("p"), F.col("id").alias("o")]
    outputs = []
    for i, record in enumerate(records):
        inputs.append(F.lit(record.key).cast("binary").alias(f"k{i}"))
        inputs.append(F.lit(record.value).cast("binary").alias(f"v{i}"))
        source = [f"k{i}", f"v{i}", "t", "p", "o"]
        decoded = jvm.decode(record.key_side, record.value_side, None, "Source", source)
        outputs.append(decoded.alias(f"d{i}"))
    rows: Row = spark.range(1).select(*inputs).select(*outputs).collect()[0]
    return [row.asDict(recursive=True) for row in rows]


def decode(
    spark: SparkSession,
    value: bytes | None,
    value_side: SideFormat,
    key: bytes | None = None,
    key_side: SideFormat = NOTHING,
) -> dict[str, Any]:
    return decode_all(spark, [Record(value, value_side, key, key_side)])[0]


def refusal(spark: SparkSession, text: str, value_side: SideFormat) -> str:
    """Why the decoder refuses the value; asked without a Spark job, which such an error ends."""
    jvm: Any = spark._jvm
    decoder = Jvm(spark).decoder(NOTHING, value_side, None, "Source")
    topic = jvm.org.apache.spark.unsafe.types.UTF8String.fromString("t")
    with pytest.raises(Py4JJavaError) as refused:
        decoder.decode(None, text.encode(), topic, 0, 0)
    return str(refused.value.java_exception.getMessage())


def columns(row: dict[str, Any]) -> list[Any]:
    """The row's columns without the flag that says whether there was a value."""
    return [value for name, value in row.items() if name != NULL_VALUE]


def encode_all(
    spark: SparkSession, targets: Sequence[tuple[SideFormat, Sequence[str]]]
) -> list[bytes | None]:
    """The bytes for structs of SQL expressions, evaluated in one Spark task."""
    jvm = Jvm(spark)
    outputs = []
    for i, (target, expressions) in enumerate(targets):
        types = [f.dataType.simpleString() for f in target.schema] + ["bigint"] * 2
        values = [F.expr(f"CAST({e} AS {t})") for e, t in zip(expressions, types, strict=False)]
        outputs.append(jvm.encode(F.struct(*values), target).alias(f"b{i}"))
    row = spark.range(1).select(*outputs).collect()[0]
    return [None if value is None else bytes(value) for value in row]


def encode(spark: SparkSession, target: SideFormat, *expressions: str) -> bytes | None:
    return encode_all(spark, [(target, expressions)])[0]


UTC = datetime.UTC
JSON_READS: list[tuple[str, str, list[Any]]] = [
    # names: exact first, then upper case; missing is null; extra is ignored; the last one counts
    ("A INT, B STRING", '{"A": 1, "B": "x"}', [1, "x"]),
    ("A INT, B STRING", '{"a": 1, "b": "x"}', [1, "x"]),
    ("FIRST INT", '{"First": 1, "other": [1, {"A": 2}]}', [1]),
    ("A INT", '{"a": 1, "A": 2}', [2]),
    ("A INT", '{"A": 2, "a": 1}', [2]),
    ("A INT", '{"A": null, "a": 1}', [None]),
    ("A INT", '{"A": 1, "A": 2}', [2]),
    ("a INT, A INT", '{"a": 1, "A": 2}', [1, 2]),
    ("aB INT", '{"AB": 1, "ab": 2}', [None]),
    ("A INT, B INT", '{"B": 1}', [None, 1]),
    ("A INT", "{}", [None]),
    ("A INT, B BOOLEAN, C STRING", '{"A": null, "B": null, "C": null}', [None] * 3),
    # whole numbers: fractions cut off, too large ones wrap, text parsed
    ("A INT", '{"A": 1.9}', [1]),
    ("A INT", '{"A": -1.9}', [-1]),
    ("A INT", '{"A": 4294967298}', [2]),
    ("A INT", '{"A": "12"}', [12]),
    ("A BIGINT", '{"A": 9223372036854775807}', [2**63 - 1]),
    ("A BIGINT", '{"A": 9223372036854775808}', [-(2**63)]),
    ("A BIGINT", '{"A": 1e3}', [1000]),
    ("A BIGINT", '{"A": "-5"}', [-5]),
    ("A DOUBLE", '{"A": 1}', [1.0]),
    ("A DOUBLE", '{"A": 0.1}', [0.1]),
    ("A DOUBLE", '{"A": "1e-3"}', [0.001]),
    ("A DOUBLE", '{"A": "Infinity"}', [float("inf")]),
    ("A DOUBLE", '{"A": -Infinity}', [float("-inf")]),
    ("A DECIMAL(6,3)", '{"A": 1.5}', [Decimal("1.500")]),
    ("A DECIMAL(6,3)", '{"A": "123.456"}', [Decimal("123.456")]),
    ("A DECIMAL(6,3)", '{"A": 1.50000}', [Decimal("1.500")]),
    ("A DECIMAL(6,3)", '{"A": 0e99}', [Decimal("0.000")]),
    (
        "A DECIMAL(38,0)",
        '{"A": 12345678901234567890123456789012345678}',
        [Decimal("12345678901234567890123456789012345678")],
    ),
    # text from anything; arrays as Java prints lists
    ("A STRING", '{"A": 1.50}', ["1.50"]),
    ("A STRING", '{"A": true}', ["true"]),
    ("A STRING", '{"A": {"x": [1, null], "y": 1.10}}', ['{"x":[1,null],"y":1.10}']),
    ("A STRING", '{"A": [1, "b", [true], null, {"x": 1}]}', ['[1, b, [true], null, {"x":1}]']),
    ("A STRING", '{"A": "\\u00e4\\n\\ud83d\\ude00"}', ["ä\n😀"]),
    ("A BOOLEAN", '{"A": true}', [True]),
    ("A BINARY", '{"A": "AAH/"}', [b"\x00\x01\xff"]),
    # times: numbers or ISO text
    ("A DATE", '{"A": 1}', [datetime.date(1970, 1, 2)]),
    ("A DATE", '{"A": "-1"}', [datetime.date(1969, 12, 31)]),
    ("A DATE", '{"A": "2024-02-29"}', [datetime.date(2024, 2, 29)]),
    ("A DATE", '{"A": "2024-02"}', [datetime.date(2024, 2, 1)]),
    # containers
    ("A ARRAY<INT>", '{"A": [1, null, "3"]}', [[1, None, 3]]),
    ("A ARRAY<ARRAY<STRING>>", '{"A": [[], ["x"]]}', [[[], ["x"]]]),
    ("A MAP<STRING, DOUBLE>", '{"A": {"x": 1, "Y": null}}', [{"x": 1.0, "Y": None}]),
    ("A MAP<STRING, INT>", '{"A": {"x": 1, "x": 2}}', [{"x": 2}]),
    ("A STRUCT<B: INT, C: STRUCT<D: STRING>>", '{"a": {"b": 1}}', [{"B": 1, "C": None}]),
    (
        "A ARRAY<STRUCT<B: INT>>",
        '{"A": [{"b": 1}, null, {"x": 2}]}',
        [[{"B": 1}, None, {"B": None}]],
    ),
]


@pytest.fixture(scope="module")
def json_rows(spark: SparkSession) -> list[dict[str, Any]]:
    """All of JSON_READS at once: a Spark job each would take the time of a hundred."""
    records = [Record(text.encode(), side("JSON", schema)) for schema, text, _ in JSON_READS]
    return decode_all(spark, records)


@pytest.mark.parametrize("case", range(len(JSON_READS)), ids=[f"{s} {t}" for s, t, _ in JSON_READS])
def test_json_reads(json_rows: list[dict[str, Any]], case: int) -> None:
    assert columns(json_rows[case]) == JSON_READS[case][2]


JSON_REFUSALS: list[tuple[str, str, str]] = [
    ("A INT", '{"A": true}', "$.A: expected INT, found boolean true"),
    ("A INT", '{"A": "x"}', "$.A: expected INT, found text 'x'"),
    ("A INT", '{"A": "1.5"}', "$.A: expected INT, found text '1.5'"),
    ("A INT", '{"A": {}}', "$.A: expected INT, found object"),
    ("A INT", '{"A": NaN}', "$.A: expected INT, found number NaN"),
    ("A BIGINT", '{"A": []}', "$.A: expected BIGINT, found array"),
    ("A DOUBLE", '{"A": "one"}', "$.A: expected DOUBLE, found text 'one'"),
    ("A BOOLEAN", '{"A": "true"}', "$.A: expected BOOLEAN, found text 'true'"),
    ("A BOOLEAN", '{"A": 1}', "$.A: expected BOOLEAN, found number 1"),
    ("A DECIMAL(4,2)", '{"A": 1.234}', "$.A: expected DECIMAL(4,2), found number '1.234'"),
    ("A DECIMAL(4,2)", '{"A": 100}', "$.A: expected DECIMAL(4,2), found number '100'"),
    ("A DECIMAL(4,2)", '{"A": 1e999999999}', "$.A: expected DECIMAL(4,2), found number '1E+9"),
    ("A DECIMAL(4,2)", '{"A": 1e-999999999}', "$.A: expected DECIMAL(4,2), found number '1E-9"),
    ("A DATE", '{"A": "2023-02-29"}', "$.A: expected DATE, found text '2023-02-29'"),
    ("A TIMESTAMP", '{"A": "noon"}', "$.A: expected TIMESTAMP, found text 'noon'"),
    ("A TIMESTAMP", '{"A": 9223372036854775807}', "$.A: expected TIMESTAMP, found number 9223"),
    ("A BINARY", '{"A": "*"}', "$.A: expected BYTES in base64, found text '*'"),
    ("A BINARY", '{"A": 1}', "$.A: expected BYTES in base64, found number 1"),
    ("A ARRAY<INT>", '{"A": {}}', "$.A: expected ARRAY, found object"),
    ("A ARRAY<INT>", '{"A": [1, "x"]}', "$.A[1]: expected INT, found text 'x'"),
    ("A MAP<STRING, INT>", '{"A": {"k": []}}', "$.A['k']: expected INT, found array"),
    ("A STRUCT<B: INT>", '{"A": {"b": "x"}}', "$.A.B: expected INT, found text 'x'"),
    ("A STRUCT<B: INT>", '{"A": 1}', "$.A: expected STRUCT, found number 1"),
    ("A INT", "1", "expected STRUCT, found number 1"),
    ("A INT", "[1]", "expected STRUCT, found array"),
    ("A INT", "", "invalid JSON: the record is empty"),
    ("A INT", '{"A": 1', "invalid JSON: Unexpected end-of-input"),
    ("A INT", '{"A": 1} {"A": 2}', "invalid JSON: text after the end of the value"),
    ("A INT", "hello", "invalid JSON: Unrecognized token 'hello'"),
    ("A STRING", f'{{"A": {"[" * 1001}1', "invalid JSON: Document nesting depth"),
]


@pytest.mark.parametrize(("schema", "text", "message"), JSON_REFUSALS)
def test_json_refuses(spark: SparkSession, schema: str, text: str, message: str) -> None:
    where = "cannot read the value of t partition 0 offset 0: "
    assert refusal(spark, text, side("JSON", schema)).startswith(where + message)


def test_json_times(spark: SparkSession) -> None:
    text = '{"T": "10:00:00.5", "TS": [1, "00:01"], "M": {"a": "00:00:01"}}'
    row = decode(spark, text.encode(), side("JSON", TIMES))
    assert columns(row) == [36_000_500, [1, 60_000], {"a": 1000}]


TIMESTAMPS = [
    ("1234", 1234),
    ("-1", -1),
    ('"1234"', 1234),
    ('"1970-01-01T00:00:01"', 1000),
    ('"1970-01-01T00:00:01.234Z"', 1234),
    ('"1970-01-01T01:00:00+01:00"', 0),
    ('"1970-01-02"', 86_400_000),
]


def test_json_timestamps(spark: SparkSession) -> None:
    target = side("JSON", "A TIMESTAMP", wrap="false")
    rows = decode_all(spark, [Record(text.encode(), target) for text, _ in TIMESTAMPS])
    # Without a zone: Spark hands timestamps to Python in the zone of the machine.
    read = [round(row["A"].astimezone(UTC).timestamp() * 1000) for row in rows]
    assert read == [millis for _, millis in TIMESTAMPS]
    written = encode_all(spark, [(target, [f"timestamp_millis({m})"]) for _, m in TIMESTAMPS])
    assert written == [str(millis).encode() for _, millis in TIMESTAMPS]


JSON_WRITES: list[tuple[str, list[str], str]] = [
    ("A INT, b STRING", ["1", "'x'"], '{"A":1,"b":"x"}'),
    ("A INT, B STRING", ["CAST(null AS INT)", "CAST(null AS STRING)"], '{"A":null,"B":null}'),
    ("A DECIMAL(5,2)", ["1.50BD"], '{"A":1.50}'),
    (
        "A DECIMAL(38,10)",
        ["CAST(1e20 AS DECIMAL(38,10))"],
        '{"A":100000000000000000000.0000000000}',
    ),
    ("A DOUBLE", ["CAST('NaN' AS DOUBLE)"], '{"A":"NaN"}'),
    ("A DOUBLE", ["CAST('-Infinity' AS DOUBLE)"], '{"A":"-Infinity"}'),
    ("A DOUBLE, B DOUBLE", ["1e20D", "0.1D"], '{"A":1.0E20,"B":0.1}'),
    ("A BOOLEAN, B BIGINT", ["true", "9223372036854775807L"], '{"A":true,"B":9223372036854775807}'),
    ("A DATE", ["DATE'1970-01-02'"], '{"A":1}'),
    ("A BINARY", ["X'0001FF'"], '{"A":"AAH/"}'),
    ("A ARRAY<INT>", ["array(1, null)"], '{"A":[1,null]}'),
    ("A MAP<STRING, INT>", ["map('x', 1, 'y', null)"], '{"A":{"x":1,"y":null}}'),
    ("A STRUCT<B: INT>", ["named_struct('B', 1)"], '{"A":{"B":1}}'),
    ("A STRUCT<B: INT>", ["CAST(null AS STRUCT<B: INT>)"], '{"A":null}'),
    ("A STRING", ["'ä\"\\n😀'"], '{"A":"ä\\"\\n😀"}'),
    ("A ARRAY<DECIMAL(4,1)>", ["array(1.5BD)"], '{"A":[1.5]}'),
]


@pytest.fixture(scope="module")
def json_texts(spark: SparkSession) -> list[bytes | None]:
    return encode_all(spark, [(side("JSON", s), e) for s, e, _ in JSON_WRITES])


@pytest.mark.parametrize("case", range(len(JSON_WRITES)), ids=[t for _, _, t in JSON_WRITES])
def test_json_writes(json_texts: list[bytes | None], case: int) -> None:
    assert json_texts[case] == JSON_WRITES[case][2].encode()


@pytest.mark.parametrize(
    ("schema", "text", "expected", "is_null"),
    [
        ("A INT", "5", [5], False),
        ("A STRING", '"x"', ["x"], False),
        ("A ARRAY<INT>", "[1]", [[1]], False),
        ("A STRUCT<B: INT>", '{"b": 1}', [{"B": 1}], False),
        ("A INT", "null", [None], True),
    ],
)
def test_json_unwrapped(
    spark: SparkSession, schema: str, text: str, expected: list[Any], is_null: bool
) -> None:
    row = decode(spark, text.encode(), side("JSON", schema, wrap="false"))
    assert columns(row) == expected
    assert row[NULL_VALUE] is is_null


def test_json_unwrapped_writes_a_single_null_as_no_bytes(spark: SparkSession) -> None:
    target = side("JSON", "A INT", wrap="false")
    assert encode(spark, target, "CAST(null AS INT)") is None
    assert encode(spark, target, "7") == b"7"


def test_no_value_and_json_null_are_rows_of_nulls_and_say_so(spark: SparkSession) -> None:
    target = side("JSON", "A INT, B STRING")
    for value in (None, b"null"):
        assert decode(spark, value, target) == {"A": None, "B": None, NULL_VALUE: True}
    assert decode(spark, b"{}", target) == {"A": None, "B": None, NULL_VALUE: False}


def test_null_struct_is_null_bytes(spark: SparkSession) -> None:
    jvm = Jvm(spark)
    nothing = F.lit(None).cast("struct<A: int>")
    encoded = jvm.encode(nothing, side("JSON", "A INT")).alias("b")
    assert spark.range(1).select(encoded).collect()[0]["b"] is None


FLAT = "A INT, B BIGINT, C DOUBLE, D DECIMAL(4,2), E STRING, F BOOLEAN, G BINARY, H DATE"
DELIMITED_READS: list[tuple[str, str, Mapping[str, str], list[Any]]] = [
    (
        FLAT,
        "1,2,0.5,1.5,x,true,AAH/,1",
        {},
        [
            *(1, 2, 0.5, Decimal("1.50"), "x", True, b"\x00\x01\xff"),
            datetime.date(1970, 1, 2),
        ],
    ),
    (FLAT, ",,,,,,,", {}, [None] * 8),
    ("A STRING, B STRING", 'x,"a,""b"""', {}, ["x", 'a,"b"']),
    ("A STRING, B STRING", '"line\nend",y\r\n', {}, ["line\nend", "y"]),
    ("A STRING, B STRING", '"",', {}, [None, None]),
    ("A INT, B STRING", " 1 , x ", {}, [1, " x "]),
    ("A INT, B INT", "1|2", {"delimiter": "|"}, [1, 2]),
    ("A STRING, B INT", "a,b\t2", {"delimiter": "\t"}, ["a,b", 2]),
    ("A STRING", "", {}, [None]),
]


@pytest.mark.parametrize(("schema", "text", "properties", "expected"), DELIMITED_READS)
def test_delimited_reads(
    spark: SparkSession, schema: str, text: str, properties: dict[str, str], expected: list[Any]
) -> None:
    assert (
        columns(decode(spark, text.encode(), side("DELIMITED", schema, **properties))) == expected
    )


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        ("A INT, B INT", "1", "unexpected field count: expected 2, found 1"),
        ("A INT, B INT", "1,2,3", "unexpected field count: expected 2, found 3"),
        ("A INT", "x", "$.A: expected INT, found text 'x'"),
        ("A BOOLEAN", "yes", "$.A: expected BOOLEAN, found text 'yes'"),
        ("A DECIMAL(4,2)", "1.234", "$.A: expected DECIMAL(4,2), found number '1.234'"),
        ("A STRING", '"x', "a quoted field has no closing quote"),
        ("A STRING", '"x"y', "found text after the closing quote of a field"),
    ],
)
def test_delimited_refuses(spark: SparkSession, schema: str, text: str, message: str) -> None:
    assert refusal(spark, text, side("DELIMITED", schema)).endswith("offset 0: " + message)


DELIMITED_WRITES: list[tuple[str, list[str], str]] = [
    ("A INT, B STRING, C INT", ["0", "CAST(null AS STRING)", "1"], "0,,1"),
    ("A STRING, B STRING", ["'a,b'", "'say \"x\"'"], '"a,b","say ""x"""'),
    ("A STRING, B STRING", ["''", "''"], '"",'),
    ("A STRING, B STRING", ["' x'", "'x '"], '" x","x "'),
    ("A DECIMAL(10,2), B DOUBLE", ["CAST(1e3 AS DECIMAL(10,2))", "1e20D"], "1000.00,1.0E20"),
    ("A DATE, B TIMESTAMP", ["DATE'1970-01-03'", "timestamp_millis(1500)"], "2,1500"),
    ("A INT, B INT", ["-7", "-7"], '"-7",-7'),
    ("A STRING, B STRING", ["'_x'", "'_x'"], '"_x",_x'),
    ("A STRING, B STRING", ["'ß'", "'ß'"], '"ß",ß'),
    ("A BINARY, B BOOLEAN", ["X'0001FF'", "false"], "AAH/,false"),
]


def test_delimited_writes(spark: SparkSession) -> None:
    texts = encode_all(spark, [(side("DELIMITED", s), e) for s, e, _ in DELIMITED_WRITES])
    assert texts == [text.encode() for _, _, text in DELIMITED_WRITES]


KAFKA_FORMATS: list[tuple[str, str, bytes, Any]] = [
    ("A INT", "-2", struct.pack(">i", -2), -2),
    ("A BIGINT", "3L", struct.pack(">q", 3), 3),
    ("A DOUBLE", "0.5D", struct.pack(">d", 0.5), 0.5),
    ("A STRING", "'ä'", "ä".encode(), "ä"),
    ("A STRING", "''", b"", ""),
    ("A BINARY", "X'0001'", b"\x00\x01", b"\x00\x01"),
]


def test_kafka_format(spark: SparkSession) -> None:
    sides = [side("KAFKA", schema) for schema, _, _, _ in KAFKA_FORMATS]
    records = [Record(c[2], s) for c, s in zip(KAFKA_FORMATS, sides, strict=True)]
    targets = [(s, [c[1]]) for c, s in zip(KAFKA_FORMATS, sides, strict=True)]
    assert [columns(row) for row in decode_all(spark, records)] == [[c[3]] for c in KAFKA_FORMATS]
    assert encode_all(spark, targets) == [data for _, _, data, _ in KAFKA_FORMATS]


def test_kafka_format_refuses_a_wrong_length(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"\$\.A: expected INT of 4 bytes, found 3"):
        decode(spark, b"abc", side("KAFKA", "A INT"))


def test_time_window_follows_the_key(spark: SparkSession) -> None:
    key = side("JSON", "K STRING", wrap="false", window="time", window_size="1000")
    data = b'"x"' + struct.pack(">q", 5000)
    row = decode(spark, b"{}", side("JSON", "A INT"), data, key)
    assert columns(row) == ["x", None, 5000, 6000]
    assert encode(spark, key, "'x'", "5000L", "6000L") == data


def test_session_window_is_end_then_start(spark: SparkSession) -> None:
    key = side("KAFKA", "K INT", window="session")
    data = struct.pack(">iqq", 7, 6000, 5000)
    row = decode(spark, b'{"A": 1}', side("JSON", "A INT"), data, key)
    assert columns(row) == [7, 1, 5000, 6000]
    assert encode(spark, key, "7", "5000L", "6000L") == data


def test_windowed_key_needs_its_bounds(spark: SparkSession) -> None:
    key = side("KAFKA", "K STRING", window="time")
    with pytest.raises(Exception, match="cannot read the key of t .*at least 8 bytes, found 3"):
        decode(spark, b"{}", side("JSON", "A INT"), b"abc", key)


def test_null_key_is_null_columns(spark: SparkSession) -> None:
    key = side("JSON", "K INT, L STRING")
    assert columns(decode(spark, b'{"A": 1}', side("JSON", "A INT"), None, key)) == [None, None, 1]


@pytest.mark.parametrize("whole_stage", ["true", "false"])
def test_runs_in_generated_and_interpreted_plans(spark: SparkSession, whole_stage: str) -> None:
    before = spark.conf.get("spark.sql.codegen.wholeStage")
    spark.conf.set("spark.sql.codegen.wholeStage", whole_stage)
    try:
        row = decode(
            spark, b'{"A": 1}', side("JSON", "A INT, B STRING"), b"k", side("KAFKA", "K STRING")
        )
        assert columns(row) == ["k", 1, None]
        assert encode(spark, side("JSON", "A BIGINT"), "id + 1") == b'{"A":1}'
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", before or "true")


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("KAFKA", "A INT, B INT", "the KAFKA format supports one column only"),
        ("KAFKA", "A BOOLEAN", "the KAFKA format does not support BOOLEAN"),
        ("DELIMITED", "A ARRAY<INT>", "the DELIMITED format does not support ARRAY<INT>"),
        ("NONE", "A INT", "the NONE format supports no columns"),
        ("JSON", "A MAP<INT, INT>", "JSON maps have STRING keys, not INT"),
        ("FOO", "A INT", "unknown format: FOO"),
    ],
)
def test_formats_refuse_columns_they_cannot_hold(
    spark: SparkSession, name: str, schema: str, message: str
) -> None:
    with pytest.raises(Exception, match=message):
        Jvm(spark).decode(NOTHING, side(name, schema), None, "Source")
