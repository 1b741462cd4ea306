"""Functions on texts that hold JSON."""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.functions.base import Call, SparkColumn, overload, scalar
from streamsql.types import SQLType

_CATEGORY = "json"


def _extract(F: Any, call: Call, text: SparkColumn, path: SparkColumn) -> SparkColumn:
    found = call.java("JsonTexts.extract", types.STRING, text, path)
    known = call.java("JsonTexts.canExtract", types.BOOLEAN, text, path)
    failed = call.fail("invalid JSON, or an invalid path", types.STRING)
    return F.coalesce(found, F.when(~known, failed))


def _items(F: Any, text: SparkColumn) -> SparkColumn:
    """Elements of a JSON array as variants; null for other JSON."""
    return F.try_parse_json(text).try_cast("array<variant>")


def _texts(F: Any, call: Call, text: SparkColumn) -> SparkColumn:
    del F
    return call.java("JsonTexts.items", call.result, text)


def _records(F: Any, call: Call, text: SparkColumn) -> SparkColumn:
    del F
    return call.java("JsonTexts.records", call.result, text)


def _contains(F: Any, call: Call, text: SparkColumn, value: SparkColumn) -> SparkColumn:
    """An element that is of the value's kind and equal to it; NULL is JSON's null."""
    kind = call.arguments[1]

    def same(item: SparkColumn) -> SparkColumn:
        json_kind = F.schema_of_variant(item)
        return F.when(value.isNull(), json_kind == "VOID").otherwise(
            _is_of_kind(json_kind, kind) & (item.try_cast(call.spark_type(kind)) == value)
        )

    if not (kind in (types.BOOLEAN, types.STRING) or types.is_numeric(kind)):
        return F.lit(False)
    found = F.exists(_items(F, text), lambda item: F.coalesce(same(item), F.lit(False)))
    return F.coalesce(found, F.lit(False))


def _is_of_kind(json_kind: SparkColumn, kind: SQLType) -> SparkColumn:
    if kind in (types.INT, types.BIGINT):
        return json_kind == "BIGINT"
    if kind in (types.STRING, types.BOOLEAN):
        return json_kind == ("STRING" if kind == types.STRING else "BOOLEAN")
    return ~json_kind.isin("BIGINT", "STRING", "BOOLEAN")


def _concat(F: Any, call: Call, *texts: SparkColumn) -> SparkColumn:
    return call.java("JsonTexts.concat", types.STRING, F.array(*texts))


# -- TO_JSON_STRING ------------------------------------------------------------------------------


def _to_json(F: Any, call: Call, value: SparkColumn) -> SparkColumn:
    text = _json_text(F, call, value, call.arguments[0])
    return F.coalesce(text, F.lit("null"))


def _quoted(F: Any, text: SparkColumn) -> SparkColumn:
    """A JSON string: Spark quotes it as the element of an array."""
    inside = F.to_json(F.array(text))
    return F.when(text.isNotNull(), F.substr(inside, F.lit(2), F.length(inside) - 2))


def _json_text(F: Any, call: Call, value: SparkColumn, kind: SQLType) -> SparkColumn:
    if kind == types.BOOLEAN or types.is_numeric(kind):
        return call.to_text(value, kind)
    if types.is_array(kind):
        element = types.element_type(kind)
        texts = F.transform(value, lambda e: _or_null(F, _json_text(F, call, e, element)))
        return F.concat(F.lit("["), F.array_join(texts, ","), F.lit("]"))
    if types.is_map(kind):
        return _json_map(F, call, value, kind)
    if types.is_struct(kind):
        fields = sorted(types.fields(kind))
        texts = [
            F.concat(
                _quoted(F, F.lit(name)),
                F.lit(":"),
                _or_null(F, _json_text(F, call, value.getField(name), inner)),
            )
            for name, inner in fields
        ]
        text = F.concat(F.lit("{"), F.concat_ws(",", *texts), F.lit("}"))
        return F.when(value.isNotNull(), text)
    return _quoted(F, call.to_text(value, kind))


def _json_map(F: Any, call: Call, value: SparkColumn, kind: SQLType) -> SparkColumn:
    key, element = types.key_type(kind), types.element_type(kind)
    keys = F.array_sort(F.map_keys(value))
    texts = F.transform(
        keys,
        lambda k: F.concat(
            _quoted(F, call.to_text(k, key)),
            F.lit(":"),
            _or_null(F, _json_text(F, call, F.element_at(value, k), element)),
        ),
    )
    return F.concat(F.lit("{"), F.array_join(texts, ","), F.lit("}"))


def _or_null(F: Any, text: SparkColumn) -> SparkColumn:
    return F.coalesce(text, F.lit("null"))


_INVALID = "invalid JSON"

JSONS = (
    scalar(
        "EXTRACTJSONFIELD",
        "The value at a path of a JSON text; strings without their quotes.",
        _CATEGORY,
        overload("text STRING, path STRING -> STRING", _extract, with_call=True),
        example=("""EXTRACTJSONFIELD('{"a": {"b": [1, 2]}}', '$.a.b[1]')""", "'2'"),
    ),
    scalar(
        "IS_JSON_STRING",
        "Whether a text is valid JSON.",
        _CATEGORY,
        overload(
            "text STRING -> BOOLEAN",
            lambda F, text: F.coalesce(F.try_parse_json(text).isNotNull(), F.lit(False)),
        ),
        example=("IS_JSON_STRING('[1, 2]')", "TRUE"),
    ),
    scalar(
        "JSON_ARRAY_CONTAINS",
        "Whether a JSON array contains an element with the same type and value.",
        _CATEGORY,
        overload("array STRING, value T -> BOOLEAN", _contains, with_call=True),
        example=("JSON_ARRAY_CONTAINS('[1, 2, 3]', 2)", "TRUE"),
    ),
    scalar(
        "JSON_ARRAY_LENGTH",
        "The number of elements of a JSON array; null for other JSON.",
        _CATEGORY,
        overload("array STRING -> INT", lambda F, text: F.array_size(_items(F, text))),
        example=("JSON_ARRAY_LENGTH('[1, 2, 3]')", "3"),
    ),
    scalar(
        "JSON_KEYS",
        "The field names of a JSON object; null for other JSON.",
        _CATEGORY,
        overload("object STRING -> ARRAY<STRING>", lambda F, text: F.json_object_keys(text)),
        example=("""JSON_KEYS('{"a": 1, "b": 2}')""", "['a', 'b']"),
    ),
    scalar(
        "JSON_RECORDS",
        "The fields of a JSON object as a map of JSON texts; null for other JSON.",
        _CATEGORY,
        overload("object STRING -> MAP<STRING, STRING>", _records, with_call=True),
        example=("""JSON_RECORDS('{"a": "x", "b": 2}')""", """{'a': 'x', 'b': '2'}"""),
    ),
    scalar(
        "JSON_ITEMS",
        "The elements of a JSON array as JSON texts.",
        _CATEGORY,
        overload("array STRING -> ARRAY<STRING>", _texts, with_call=True),
        fallible="not a JSON array",
        example=("""JSON_ITEMS('[{"a": 1}, 2]')""", """['{"a":1}', '2']"""),
    ),
    scalar(
        "JSON_CONCAT",
        "JSON objects merged, or JSON arrays concatenated.",
        _CATEGORY,
        overload("first STRING, others STRING... -> STRING", _concat, with_call=True),
        fallible=_INVALID,
        example=("JSON_CONCAT('[1]', '[2]', '3')", "'[1,2,3]'"),
    ),
    scalar(
        "TO_JSON_STRING",
        "The value as JSON, with fields and keys sorted.",
        _CATEGORY,
        overload("value T -> STRING", _to_json, with_call=True),
        example=(
            "TO_JSON_STRING(STRUCT(B := 1, A := ARRAY['x', NULL]))",
            """'{"A":["x",null],"B":1}'""",
        ),
    ),
)
