"""Rows of a stream or table, read from its topic without a query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from streamsql.catalog import Source
from streamsql.kafka.records import Record
from streamsql.results import Row
from streamsql.values.records import unpack

_TYPES = {"INT", "BIGINT", "DOUBLE", "BOOLEAN", "TEXT"}
"""Types whose values JSON holds unchanged."""


def are_plain(source: Source) -> bool:
    """Whether a query writes the rows as JSON that `rows_of` reads."""
    topic, schema = source.topic, source.schema
    return (
        source.created_by_query is not None
        and (topic.window, topic.value_format.name) == (None, "JSON")
        and topic.value_format.properties.get("wrap") != "false"
        and topic.key_format.name in ("JSON", "KAFKA", "NONE")
        and len(schema.key) <= 1
        and all(str(column.type) in _TYPES for column in schema)
    )


def rows_of(source: Source, records: Iterable[Record]) -> Iterator[Row]:
    """The rows in the columns of the schema."""
    names = [column.name for column in source.schema.value]
    key_of = _key_reader(source)
    for record in records:
        value = json.loads(record.value or b"{}")
        cells = (*key_of(record.key), *(value.get(name) for name in names))
        yield Row(cells, tombstone=record.value is None)


def _key_reader(source: Source) -> Callable[[bytes | None], tuple[object, ...]]:
    if not source.schema.key:
        return lambda key: ()
    (column,) = source.schema.key
    if source.topic.key_format.name == "JSON":
        return lambda key: (None if key is None else json.loads(key),)
    return lambda key: (None if key is None else unpack(column.type, key),)
