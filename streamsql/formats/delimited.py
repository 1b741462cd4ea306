"""DELIMITED: comma-separated values in the order of the columns, or another delimiter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamsql.formats.base import Format, type_problem
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    decimal,
)

_SUPPORTED = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, decimal(1, 0))


class DelimitedFormat(Format):
    """A line of CSV, without names."""

    name: ClassVar[str] = "DELIMITED"
    has_delimiter: ClassVar[bool] = True
    wrap_options: ClassVar[frozenset[bool]] = frozenset({False})

    def problem(self, columns: Sequence[Column]) -> str | None:
        return type_problem(self.name, columns, {t.this for t in _SUPPORTED})
