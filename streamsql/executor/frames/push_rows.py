"""The rows of a push query in its topic: JSON, written by Spark and read here.

A record is an object of the columns, named c0, c1 ... in the order of the schema (the user's names
need not be unique under JSON's case rules), and `tombstone`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any

from streamsql.results import Row
from streamsql.schema import WINDOW_BOUNDS, Column, Namespace, Schema
from streamsql.values.nested import Codec, converter

TOMBSTONE = "tombstone"
_read = json.JSONDecoder(parse_float=Decimal).decode
BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)


def of_key(column: Column, bounds: Collection[str]) -> bool:
    """Whether a tombstone has a value in the column: key and window bounds do."""
    return column.namespace is Namespace.KEY or column.name in bounds


def push_columns(schema: Schema) -> tuple[str, ...]:
    """The names of a record's fields; the last one says whether the row is a tombstone."""
    return (*(f"c{i}" for i in range(len(schema))), TOMBSTONE)


def push_decoder(schema: Schema) -> Callable[[bytes], Row]:
    """From records to rows: cells in the order of the schema."""
    kinds = [
        (name, converter(column.type, attrgetter("of_packed"), _entries))
        for name, column in zip(push_columns(schema), schema, strict=False)
    ]

    def decode(record: bytes) -> Row:
        found = _read(record.decode())
        cells = (None if (c := found[name]) is None else codec(c) for name, codec in kinds)
        return Row(tuple(cells), bool(found[TOMBSTONE]))

    return decode


def _entries(key: Codec, value: Codec, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Keys keep their JSON text."""
    return {k: None if v is None else value(v) for k, v in entries.items()}


class ShownKeys:
    """The keys that a push query over a filtered table has shown.

    The filter turns every row that fails into a tombstone, whether its key has passed before or
    not; only a tombstone for a shown key is passed on.
    """

    def __init__(
        self, schema: Schema, bounds: Collection[str] = BOUNDS, limit: int = 1_000_000
    ) -> None:
        self._key = [i for i, c in enumerate(schema) if of_key(c, bounds)]
        self._shown: set[str] = set()
        self._limit = limit
        self._all_known = True

    def is_news(self, row: Row) -> bool:
        """Whether to show the row, which is then recorded. Beyond the limit, every row is shown."""
        key = repr([row.values[i] for i in self._key])
        if row.tombstone:
            known = key in self._shown
            self._shown.discard(key)
            return known or not self._all_known
        if len(self._shown) < self._limit:
            self._shown.add(key)
        else:
            self._all_known = False
        return True
