"""Functions on texts that hold JSON."""

from __future__ import annotations

import re
from typing import Any

from streamsql import types
from streamsql.functions.base import Call, SparkColumn, each, overload, scalar
from streamsql.functions.collection import map_union
from streamsql.types import SQLType

_CATEGORY = "json"

_STEP = re.compile(r"""\.([^.\[\]'"]+)|\[(\d+)\]|\[(?:"([^"]*)"|'([^']*)')\]""")


def _spark_path(path: str) -> str | None:
    """A path such as `$.a[0]["b"]` as Spark writes it; None if it is none."""
    if not path.startswith("$"):
        return None
    steps, at = ["$"], 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        field, index, double, single = found.groups()
        name = field or double or single
        steps.append(f"[{index}]" if index is not None else f"['{name}']")
        at = found.end()
    return "".join(steps)


def _extract(F: Any, call: Call, text: SparkColumn, path: SparkColumn) -> SparkColumn:
    given = call.constants[1]
    if isinstance(given, str):
        known = _spark_path(given)
        if known is None:
            return call.fail(f"invalid JSON path: {given}", types.STRING)
        return F.get_json_object(text, known)
    quoted = F.regexp_replace(path, r'\["([^"]*)"\]', "['$1']")
    return F.call_function("get_json_object", text, quoted)


def _items(F: Any, text: SparkColumn) -> SparkColumn:
    """The elements of a JSON array as variants; null if it is none."""
    return F.try_parse_json(text).try_cast("array<variant>")


def _fields(F: Any, text: SparkColumn) -> SparkColumn:
    """The fields of a JSON object as variants; null if it is none."""
    return F.try_parse_json(text).try_cast("map<string,variant>")


def _record(F: Any, value: SparkColumn) -> SparkColumn:
    """A field's value as JSON, of a string its characters."""
    text = F.when(F.schema_of_variant(value) == "STRING", value.try_cast("string"))
    return F.coalesce(text, F.to_json(value))


def _texts(F: Any, text: SparkColumn) -> SparkColumn:
    return F.transform(_items(F, text), lambda item: F.to_json(item))


def _records(F: Any, text: SparkColumn) -> SparkColumn:
    return F.transform_values(_fields(F, text), lambda _, value: _record(F, value))


def _contains(F: Any, call: Call, text: SparkColumn, value: SparkColumn) -> SparkColumn:
    """An element that is of the value's kind and equal to it."""
    kind = call.arguments[1]

    def same(item: SparkColumn) -> SparkColumn:
        json_kind = F.schema_of_variant(item)
        if types.is_null(kind):
            return json_kind == "VOID"
        spark = call.spark_type(kind)
        equal = item.try_cast(spark) == value
        if kind == types.STRING:
            return (json_kind == "STRING") & equal
        if kind == types.BOOLEAN:
            return (json_kind == "BOOLEAN") & equal
        whole = json_kind == "BIGINT"
        return (
            (whole if kind in (types.INT, types.BIGINT) else ~whole)
            & (json_kind != "STRING")
            & (json_kind != "BOOLEAN")
            & equal
        )

    found = F.exists(_items(F, text), lambda item: F.coalesce(same(item), F.lit(False)))
    return F.coalesce(found, F.lit(False))


def _concat(F: Any, *texts: SparkColumn) -> SparkColumn:
    """Objects are merged; otherwise arrays are put one behind the other, other values as one
    element each."""
    parsed = [F.try_parse_json(text) for text in texts]
    valid, objects = F.lit(True), F.lit(True)
    for value in parsed:
        valid = valid & value.isNotNull()
        objects = objects & F.startswith(F.schema_of_variant(value), F.lit("OBJECT"))
    maps = [value.try_cast("map<string,variant>") for value in parsed]
    arrays = [
        F.when(
            F.startswith(F.schema_of_variant(value), F.lit("ARRAY")),
            value.try_cast("array<variant>"),
        ).otherwise(F.array(value))
        for value in parsed
    ]
    merged = maps[0]
    for later in maps[1:]:
        merged = map_union(F, merged, later)
    joined = F.when(objects, F.to_json(merged)).otherwise(F.to_json(F.concat(*arrays)))
    return F.when(valid, joined)


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
        "Whether a JSON array has an element of that kind and value.",
        _CATEGORY,
        each(
            "array STRING, value {} -> BOOLEAN",
            "BOOLEAN INT BIGINT DOUBLE STRING",
            _contains,
            with_call=True,
        ),
        example=("JSON_ARRAY_CONTAINS('[1, 2, 3]', 2)", "TRUE"),
    ),
    scalar(
        "JSON_ARRAY_LENGTH",
        "How many elements a JSON array has; null of anything else.",
        _CATEGORY,
        overload("array STRING -> INT", lambda F, text: F.array_size(_items(F, text))),
        example=("JSON_ARRAY_LENGTH('[1, 2, 3]')", "3"),
    ),
    scalar(
        "JSON_KEYS",
        "The names of a JSON object's fields; null of anything else.",
        _CATEGORY,
        overload("object STRING -> ARRAY<STRING>", lambda F, text: F.json_object_keys(text)),
        example=("""JSON_KEYS('{"a": 1, "b": 2}')""", "['a', 'b']"),
    ),
    scalar(
        "JSON_RECORDS",
        "The fields of a JSON object as a map of JSON texts; null of anything else.",
        _CATEGORY,
        overload("object STRING -> MAP<STRING, STRING>", _records),
        example=("""JSON_RECORDS('{"a": "x", "b": 2}')""", """{'a': 'x', 'b': '2'}"""),
    ),
    scalar(
        "JSON_ITEMS",
        "The elements of a JSON array as JSON texts.",
        _CATEGORY,
        overload("array STRING -> ARRAY<STRING>", _texts),
        fallible="not a JSON array",
        example=("""JSON_ITEMS('[{"a": 1}, 2]')""", """['{"a":1}', '2']"""),
    ),
    scalar(
        "JSON_CONCAT",
        "JSON objects merged, or arrays one behind the other.",
        _CATEGORY,
        overload("first STRING, others STRING... -> STRING", _concat),
        fallible=_INVALID,
        example=("JSON_CONCAT('[1]', '[2]', '3')", "'[1,2,3]'"),
    ),
    scalar(
        "TO_JSON_STRING",
        "The value as JSON; fields and keys in order.",
        _CATEGORY,
        overload("value T -> STRING", _to_json, with_call=True),
        example=(
            "TO_JSON_STRING(STRUCT(B := 1, A := ARRAY['x', NULL]))",
            """'{"A":["x",null],"B":1}'""",
        ),
    ),
)
