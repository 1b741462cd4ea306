"""NONE: no key, or no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamsql.formats.base import Format, columns_text
from streamsql.schema import Column


class NoneFormat(Format):
    """No content: for keys that are not read."""

    name: ClassVar[str] = "NONE"

    def problem(self, columns: Sequence[Column]) -> str | None:
        if not columns:
            return None
        return (
            "The 'NONE' format can only be used when no columns are defined. "
            f"Got: {columns_text(columns)}"
        )
