"""Expectations of a test about streams and tables, compared with the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.catalog import Catalog, Source
from streamsql.errors import StreamSQLError
from streamsql.nodes import ColumnRole, CreateSource
from streamsql.parser import parse_one
from streamsql.schema import Schema
from streamsql.test_driver.json_values import JSONObject
from streamsql.types import to_sql

_KEYS = (ColumnRole.KEY, ColumnRole.PRIMARY_KEY)


def describe(catalog: Catalog) -> list[JSONObject]:
    """All streams and tables, in the form that tests write."""
    return [_describe(source) for source in catalog.sources.values()]


def _describe(source: Source) -> JSONObject:
    topic, window = source.topic, source.topic.window
    return {
        "name": source.name,
        "type": source.kind.value.lower(),
        "schema": _schema_text(source.schema),
        "keyFormat": {
            "format": topic.key_format.name if source.schema.key else "NONE",
            **({"windowType": window.type.value, "windowSize": window.size_ms} if window else {}),
        },
        "valueFormat": topic.value_format.name,
        "isSource": source.is_source,
    }


def _schema_text(schema: Schema) -> str:
    return ", ".join(
        f"`{c.name}` {to_sql(c.type)}" + (" KEY" if c in schema.key else "")
        for c in (*schema.key, *schema.value, *schema.headers)
    )


def source_differences(expected: Sequence[JSONObject], catalog: Catalog) -> list[str]:
    """A line for each thing that a test says of a source and that is not so."""
    return [line for wanted in expected for line in _differences(wanted, catalog)]


def _differences(wanted: JSONObject, catalog: Catalog) -> list[str]:
    name = str(wanted["name"])
    source = catalog.sources.get(name)
    if source is None:
        return [f"source {name}: does not exist"]
    found = _describe(source)
    lines = []
    if "type" in wanted and str(wanted["type"]).lower() != found["type"]:
        lines.append(f"source {name}: expected a {wanted['type']}, found a {found['type']}")
    if "schema" in wanted and not _same_schema(str(wanted["schema"]), source.schema):
        lines.append(f"source {name}: expected schema {wanted['schema']}, found {found['schema']}")
    for key, value in (wanted.get("keyFormat") or {}).items():
        if key in ("format", "windowType", "windowSize") and found["keyFormat"].get(key) != value:
            actual = found["keyFormat"].get(key)
            lines.append(f"source {name}: expected key {key} {value}, found {actual}")
    return lines


def _same_schema(text: str, schema: Schema) -> bool:
    """The text is read as the columns of a stream; names may stand between backticks or not."""
    if _compact(text) == _compact(_schema_text(schema)):
        return True
    try:
        statement = parse_one(f"CREATE STREAM S ({text}) WITH (KAFKA_TOPIC='s');")
    except StreamSQLError:
        return False
    assert isinstance(statement, CreateSource)
    # Types compare by value; of roles only whether it is the key's is written in tests.
    wanted = [(c.name, to_sql(c.type), c.role in _KEYS) for c in statement.columns]
    own = (*schema.key, *schema.value, *schema.headers)
    return wanted == [(c.name, to_sql(c.type), c in schema.key) for c in own]


def _compact(text: str) -> str:
    return "".join(text.split())
