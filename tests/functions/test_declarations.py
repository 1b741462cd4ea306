"""What holds of every declared function, and that each one's examples are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from functions.evaluation import evaluate
from pyspark.sql import SparkSession

from streamsql.errors import BindError, TypeMismatchError
from streamsql.functions import REGISTRY, AggregateFunction, Function, ScalarFunction, TableFunction
from streamsql.functions.elsewhere import HINTS
from streamsql.functions.reference import markdown
from streamsql.functions.resolve import resolve
from streamsql.functions.signature import (
    ArgumentType,
    LambdaType,
    Pattern,
    parse_signature,
    resolve_pattern,
)
from streamsql.types import (
    BIGINT,
    INT,
    INTERVAL_UNIT,
    NULL,
    PRIMITIVES,
    STRING,
    array,
    decimal,
    map_,
    struct,
    to_sql,
)

EXAMPLES = [
    pytest.param(f, sql, result, id=sql)
    for f in REGISTRY
    if not isinstance(f, AggregateFunction)
    for sql, result in f.examples
]


NAMES = """
ABS ACOS ASIN ATAN ATAN2 CBRT CEIL COS COSH COT DEGREES EXP FLOOR GEO_DISTANCE GREATEST LEAST LN
LOG PI POWER RADIANS RANDOM ROUND SIGN SIN SINH SQRT TAN TANH TRUNC
AS_VALUE COALESCE IFNULL NULLIF UUID
BIGINT_FROM_BYTES CHR CONCAT CONCAT_WS DOUBLE_FROM_BYTES ELT ENCODE FIELD FROM_BYTES INITCAP INSTR
INT_FROM_BYTES LCASE LEN LPAD MASK MASK_KEEP_LEFT MASK_KEEP_RIGHT MASK_LEFT MASK_RIGHT MD5
REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_REPLACE REGEXP_SPLIT_TO_ARRAY REPLACE RPAD SPLIT
SPLIT_TO_MAP SUBSTRING TO_BYTES TRIM UCASE
URL_DECODE_PARAM URL_ENCODE_PARAM URL_EXTRACT_FRAGMENT URL_EXTRACT_HOST URL_EXTRACT_PARAMETER
URL_EXTRACT_PATH URL_EXTRACT_PORT URL_EXTRACT_PROTOCOL URL_EXTRACT_QUERY
EXTRACTJSONFIELD IS_JSON_STRING JSON_ARRAY_CONTAINS JSON_ARRAY_LENGTH JSON_CONCAT JSON_ITEMS
JSON_KEYS JSON_RECORDS TO_JSON_STRING
ARRAY_CONCAT ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_JOIN ARRAY_LENGTH
ARRAY_MAX ARRAY_MIN ARRAY_REMOVE ARRAY_SORT ARRAY_UNION AS_MAP ENTRIES GENERATE_SERIES MAP_KEYS
MAP_UNION MAP_VALUES SLICE
FILTER REDUCE TRANSFORM
CONVERT_TZ DATEADD DATESUB DATETOSTRING FORMAT_DATE FORMAT_TIME FORMAT_TIMESTAMP FROM_DAYS
FROM_UNIXTIME PARSE_DATE PARSE_TIME PARSE_TIMESTAMP STRINGTODATE STRINGTOTIMESTAMP TIMEADD
TIMESTAMPADD TIMESTAMPSUB TIMESTAMPTOSTRING TIMESUB UNIX_DATE UNIX_TIMESTAMP
ATTR AVG COLLECT_LIST COLLECT_SET CORRELATION COUNT COUNT_DISTINCT EARLIEST_BY_OFFSET HISTOGRAM
LATEST_BY_OFFSET MAX MIN STDDEV_SAMP STDDEV_SAMPLE SUM SUM_LIST TOPK TOPKDISTINCT
CUBE_EXPLODE EXPLODE
"""
"""All functions of the language, by family."""


def test_every_function_of_the_language_is_declared() -> None:
    assert set(REGISTRY.names) >= set(NAMES.split())


@pytest.mark.parametrize("function", list(REGISTRY), ids=lambda f: f.name)
def test_declaration(function: Function) -> None:
    assert re.fullmatch(r"[A-Z][A-Z0-9_]*", function.name)
    assert function.doc[0].isupper() or function.doc[0] in "-e", function.doc
    assert function.doc.endswith("."), function.doc
    assert function.category
    assert function.overloads
    assert function.examples, "an example says more than a description"
    texts = [str(s) for s in function.signatures]
    assert len(set(texts)) == len(texts), "two overloads take the same"


SAMPLES = {
    "ANY": STRING,
    "DECIMAL": decimal(5, 2),
    "D": decimal(5, 2),
    "INTERVALUNIT": INTERVAL_UNIT,
    "STRUCT": struct([("A", INT)]),
}


def sample(pattern: Pattern) -> ArgumentType:
    """A type that the pattern takes."""
    if pattern.name == "LAMBDA":
        return LambdaType(len(pattern.inner) - 1)
    inner = [t for p in pattern.inner if not isinstance(t := sample(p), LambdaType)]
    if pattern.inner:
        return array(inner[0]) if pattern.name == "ARRAY" else map_(inner[0], inner[1])
    return SAMPLES.get(pattern.name) or PRIMITIVES.get(pattern.name, BIGINT)


@pytest.mark.parametrize("function", list(REGISTRY), ids=lambda f: f.name)
def test_each_overload_is_found_and_has_a_result(function: Function) -> None:
    for index, overload in enumerate(function.overloads):
        arguments = [sample(p.pattern) for p in overload.signature.parameters]
        found = resolve(function, arguments)
        assert found.index == index
        kinds = [a for a in arguments if not isinstance(a, LambdaType)]
        if overload.returns is None:
            given = kinds[0] if kinds else None
            to_sql(resolve_pattern(overload.signature.result, found.bindings, given))
        else:
            to_sql(overload.returns(tuple(kinds)))


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, str]:
    sqls = [str(example.values[1]) for example in EXAMPLES]
    return dict(zip(sqls, evaluate(spark, sqls), strict=True))


@pytest.mark.spark
@pytest.mark.parametrize(("function", "sql", "result"), EXAMPLES)
def test_example(function: Function, sql: str, result: str, results: dict[str, str]) -> None:
    # Types hold blanks, in `DECIMAL(3, 2)`: the value is what follows the type.
    assert results[sql].endswith(f" {result}"), results[sql]


def test_registry_finds_in_any_case() -> None:
    assert REGISTRY.find("ucase") is REGISTRY.get("UCASE")
    assert REGISTRY.find("nothing") is None
    assert REGISTRY.is_aggregate("count") and not REGISTRY.is_aggregate("ucase")
    assert REGISTRY.is_table_function("explode") and not REGISTRY.is_table_function("nothing")
    assert list(REGISTRY.names) == sorted(REGISTRY.names)
    assert len(REGISTRY) == len(set(REGISTRY.names))


def test_registry_suggests() -> None:
    with pytest.raises(BindError) as caught:
        REGISTRY.get("substrin")
    assert caught.value.message == "Can't find any functions with the name 'substrin'"
    assert caught.value.hint == "Did you mean SUBSTRING?"


@pytest.mark.parametrize("name", HINTS)
def test_what_other_databases_call_so(name: str) -> None:
    assert REGISTRY.find(name) is None, "the hint is never seen"
    called = re.findall(r"\b([A-Z][A-Z_]+)\(", HINTS[name])
    written_otherwise = {"POSITION", "EXTRACT", "COUNT", "OVER"}
    assert all(REGISTRY.find(other) for other in {*called} - written_otherwise), called
    with pytest.raises(BindError) as caught:
        REGISTRY.get(name.lower())
    assert caught.value.hint == HINTS[name]


def test_kinds() -> None:
    kinds = {f.name: type(f) for f in REGISTRY}
    assert kinds["SUM"] is AggregateFunction
    assert kinds["EXPLODE"] is TableFunction
    assert kinds["ABS"] is ScalarFunction
    assert len([f for f in REGISTRY if isinstance(f, ScalarFunction)]) >= 60


def test_undo_and_real_time() -> None:
    undo = {f.name for f in REGISTRY if isinstance(f, AggregateFunction) and f.undo}
    assert undo == {
        *("COUNT", "SUM", "AVG", "COLLECT_LIST", "SUM_LIST"),
        *("STDDEV_SAMPLE", "STDDEV_SAMP", "CORRELATION", "HISTOGRAM", "ATTR"),
        *("COUNT_DISTINCT_EXACT", "SUM_DISTINCT", "AVG_DISTINCT", "COUNT_IF"),
        *("BOOL_AND", "BOOL_OR", "EVERY", "ARRAY_AGG", "STRING_AGG", "STRING_AGG_DISTINCT"),
        *("ARG_MAX", "ARG_MIN", "MEDIAN", "PERCENTILE"),
        *("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_SAMP", "VAR_POP"),
    }


def test_signature_text() -> None:
    signature = parse_signature("array ARRAY<T>, mapper (T) => U, const n INT, rest T... -> U")
    assert str(signature) == ("(ARRAY<T> array, LAMBDA (T) => U mapper, INTEGER n, T... rest)")
    assert signature.is_variadic
    assert signature.parameter(7).name == "rest"
    assert signature.parameter(2).constant
    assert signature.generics == 2


@pytest.mark.parametrize(
    ("name", "arguments", "index"),
    [
        ("ABS", [INT], 0),
        ("LEN", [STRING], 0),
        ("SUBSTRING", [STRING, INT], 0),
        ("SUBSTRING", [STRING, INT, INT], 2),
        ("SUBSTRING", [STRING, NULL], 0),
        ("COALESCE", [INT, BIGINT], 0),
        ("TRANSFORM", [array(INT), LambdaType(1)], 0),
        ("TIMESTAMPTOSTRING", [INT, STRING], 0),
        ("GREATEST", [decimal(3, 1), decimal(5, 2)], 8),
    ],
)
def test_overload(name: str, arguments: list[Any], index: int) -> None:
    assert resolve(REGISTRY.get(name), arguments).index == index


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "LEN",
            [INT],
            "Function 'len' does not accept parameters (INTEGER).\n"
            "Valid alternatives are:\nlen(STRING value)\nlen(BYTES value)",
        ),
        (
            "GREATEST",
            [INT, BIGINT],
            "Function 'greatest' cannot be resolved due to ambiguous method parameters "
            "(INTEGER, BIGINT).",
        ),
        (
            "GREATEST",
            [NULL, NULL],
            "Function 'greatest' cannot be resolved due to ambiguous method parameters "
            "(null, null).",
        ),
        (
            "EXPLODE",
            [INT],
            "Function 'explode' does not accept parameters (INTEGER).\n"
            "Valid alternatives are:\nexplode(ARRAY<T> list)",
        ),
        (
            "TRANSFORM",
            [array(INT), LambdaType(3)],
            "Function 'transform' does not accept parameters (ARRAY<INTEGER>, LAMBDA).\n"
            "Valid alternatives are:\n"
            "transform(ARRAY<T> array, LAMBDA (T) => U mapper)\n"
            "transform(MAP<K, V> map, LAMBDA (K, V) => L keyMapper, "
            "LAMBDA (K, V) => U valueMapper)",
        ),
    ],
)
def test_rejection(name: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        resolve(REGISTRY.get(name), arguments)
    assert caught.value.message == message


def test_the_document_is_up_to_date() -> None:
    document = Path(__file__).parents[2] / "docs" / "functions.md"
    assert document.read_text() == markdown(), "run `make docs`"


def test_every_category_is_in_the_document() -> None:
    text = markdown()
    assert all(f"### {f.name}\n" in text for f in REGISTRY)
