"""KAFKA: one value as Kafka's own serializers write it: big-endian numbers, UTF-8 text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamsql.formats.base import Format, columns_text, type_problem
from streamsql.schema import Column
from streamsql.types import BIGINT, BYTES, DOUBLE, INT, STRING

_SUPPORTED = (INT, BIGINT, DOUBLE, STRING, BYTES)


class KafkaFormat(Format):
    """The serialized form of Kafka's own serdes: one column, no name."""

    name: ClassVar[str] = "KAFKA"
    wrap_options: ClassVar[frozenset[bool]] = frozenset({False})
    regroups: ClassVar[bool] = False

    def problem(self, columns: Sequence[Column]) -> str | None:
        if len(columns) > 1:
            return f"The 'KAFKA' format only supports a single field. Got: {columns_text(columns)}"
        return type_problem(self.name, columns, {t.this for t in _SUPPORTED})
