"""Rows in Protobuf: the expected ones are texts of messages, those found their bytes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format

from streamsql.formats.protobuf_json import message_class
from streamsql.formats.registered import SchemaText
from streamsql.test_driver.json_values import JSONObject


def proto_rows_differ(
    expected: Sequence[JSONObject], found: Sequence[JSONObject], *, in_order: bool
) -> str | None:
    """What is wrong with an answer: a header with a schema, rows, perhaps a final message."""
    if len(expected) != len(found):
        return f"expected {len(expected)} elements, found {len(found)}: {found}"
    schema = str(found[0]["header"]["protoSchema"])
    if schema != expected[0]["header"]["protoSchema"]:
        return f"expected the schema {expected[0]['header']['protoSchema']!r}, found {schema!r}"
    wanted, actual = _texts(expected, schema), _texts(found, schema)
    if not in_order:
        wanted, actual = sorted(wanted), sorted(actual)
    return None if wanted == actual else f"expected {wanted}, found {actual}"


def _texts(elements: Sequence[JSONObject], schema: str) -> list[str]:
    """Each element as a text of its own; the entries of a map in one order."""
    return [_text(element, schema) for element in elements[1:]]


def _text(element: JSONObject, schema: str) -> str:
    if "row" not in element:
        return str(element)
    message = message_class(SchemaText("PROTOBUF", schema))()
    row: Any = element["row"]
    if isinstance(row, str):
        text_format.Parse(row, message)
    else:
        message.ParseFromString(base64.b64decode(row["protobufBytes"]))
    for field, value in message.ListFields():
        if field.is_repeated and field.message_type and field.message_type.name.endswith("Entry"):
            entries = sorted(value, key=str)
            del value[:]
            value.extend(entries)
    return str(message)
