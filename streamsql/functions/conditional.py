"""Functions about null, and others that fit any type."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import SparkColumn, each, overload, scalar

_CATEGORY = "conditional"
_ORDERED = "INT BIGINT DOUBLE STRING BYTES DATE TIME TIMESTAMP"


def _greatest(F: Any, *values: SparkColumn) -> SparkColumn:
    return F.greatest(*values) if len(values) > 1 else values[0]


def _least(F: Any, *values: SparkColumn) -> SparkColumn:
    return F.least(*values) if len(values) > 1 else values[0]


def _uuid_of(F: Any, value: SparkColumn) -> SparkColumn:
    digits = F.lower(F.hex(value))
    dashed = F.regexp_replace(digits, "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")
    return F.when(F.length(value) == 16, dashed)


CONDITIONALS = (
    scalar(
        "COALESCE",
        "The first argument that is not null.",
        _CATEGORY,
        overload("first T, others T... -> T", lambda F, *values: F.coalesce(*values)),
        example=("COALESCE(NULL, 2, 3)", "2"),
    ),
    scalar(
        "IFNULL",
        "The value, or the alternative if it is null.",
        _CATEGORY,
        overload("value T, alternative T -> T", lambda F, a, b: F.coalesce(a, b)),
        example=("IFNULL(CAST(NULL AS STRING), 'none')", "'none'"),
    ),
    scalar(
        "NULLIF",
        "The first value, or null if both are equal.",
        _CATEGORY,
        overload("value T, other T -> T", lambda F, a, b: F.nullif(a, b)),
        example=("NULLIF(1, 1)", "NULL"),
    ),
    scalar(
        "AS_VALUE",
        "A copy of a key column for the value.",
        _CATEGORY,
        overload("value T -> T", lambda F, value: value),
        example=("AS_VALUE(5)", "5"),
    ),
    scalar(
        "GREATEST",
        "The greatest of the arguments; nulls are skipped.",
        _CATEGORY,
        each("value {}, others {}... -> {}", _ORDERED + " D", _greatest),
        example=("GREATEST(1, 3, NULL)", "3"),
    ),
    scalar(
        "LEAST",
        "The least of the arguments; nulls are skipped.",
        _CATEGORY,
        each("value {}, others {}... -> {}", _ORDERED + " D", _least),
        example=("LEAST('b', 'a')", "'a'"),
    ),
    scalar(
        "UUID",
        "A new random identifier; of 16 bytes, the identifier that they are.",
        _CATEGORY,
        overload("-> STRING", lambda F: F.uuid()),
        overload("bytes BYTES -> STRING", _uuid_of),
        deterministic=False,
        example=("LEN(UUID())", "36"),
    ),
)
