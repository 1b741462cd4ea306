"""Conversion of values with MAPs to values that Spark can compare, hash and sort, and back.

Spark supports none of that for maps, so they are represented by their entries in key order.
"""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.functions.base import SparkColumn
from streamsql.types import SQLType


def comparable(F: Any, value: SparkColumn, kind: SQLType) -> SparkColumn:
    """The value, with lists of entries in place of maps at any depth."""
    if not types.contains_map(kind):
        return value
    if types.is_map(kind):
        return F.array_sort(_entries(F, F.map_entries(value), kind, comparable))
    return _inside(F, value, kind, comparable)


def restored(F: Any, value: SparkColumn, kind: SQLType) -> SparkColumn:
    """The value of type `kind` that `comparable` has made this of."""
    if not types.contains_map(kind):
        return value
    if types.is_map(kind):
        return F.map_from_entries(_entries(F, value, kind, restored))
    return _inside(F, value, kind, restored)


def _entries(F: Any, entries: SparkColumn, kind: SQLType, convert: Any) -> SparkColumn:
    element = types.element_type(kind)
    if not types.contains_map(element):
        return entries
    return F.transform(
        entries,
        lambda e: F.struct(e["key"].alias("key"), convert(F, e["value"], element).alias("value")),
    )


def _inside(F: Any, value: SparkColumn, kind: SQLType, convert: Any) -> SparkColumn:
    """An ARRAY or a STRUCT with its parts converted."""
    if types.is_array(kind):
        return F.transform(value, lambda e: convert(F, e, types.element_type(kind)))
    fields = [convert(F, value.getField(n), t).alias(n) for n, t in types.fields(kind)]
    return F.when(value.isNotNull(), F.struct(*fields))
