"""Functions on text."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import SparkColumn, each, overload, scalar

_CATEGORY = "string"


def _substring(F: Any, text: SparkColumn, position: SparkColumn, *length: SparkColumn) -> Any:
    """From the 1-based position, or counted from the end; a start before the text is its start."""
    size = F.length(text)
    from_end = F.greatest(size + position + 1, F.lit(1))
    start = F.when(position < 0, from_end).otherwise(F.greatest(position, F.lit(1)))
    wanted = F.greatest(length[0], F.lit(0)) if length else size
    return F.substr(text, start, wanted)


def _concat_ws(F: Any, separator: SparkColumn, *values: SparkColumn) -> SparkColumn:
    return (
        F.when(separator.isNotNull(), F.concat_ws("", *values))
        if not values
        else (F.array_join(F.array(*values), separator))
    )


def _initcap(F: Any, text: SparkColumn) -> SparkColumn:
    return F.initcap(text)


STRINGS = (
    scalar(
        "LCASE",
        "The text in lower case.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.lower(s)),
        example=("LCASE('ABC')", "'abc'"),
    ),
    scalar(
        "UCASE",
        "The text in upper case.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.upper(s)),
        example=("UCASE('abc')", "'ABC'"),
    ),
    scalar(
        "LEN",
        "The length of a text in characters, or of bytes.",
        _CATEGORY,
        each("value {} -> INT", "STRING BYTES", lambda F, s: F.length(s)),
        example=("LEN('abc')", "3"),
    ),
    scalar(
        "SUBSTRING",
        "The part from a position on, counted from 1 or backwards from -1.",
        _CATEGORY,
        each("value {}, position INT -> {}", "STRING BYTES", _substring),
        each("value {}, position INT, length INT -> {}", "STRING BYTES", _substring),
        example=(("SUBSTRING('stream', 2, 3)", "'tre'"), ("SUBSTRING('stream', -2)", "'am'")),
    ),
)
