"""Table functions: several rows from one; each gives an array whose elements are the rows."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import SparkColumn, overload, table


def _cube(F: Any, array: SparkColumn) -> SparkColumn:
    """All combinations of an element or null in each place: of d elements 2^d, by a bit mask whose
    highest bit is the first element; a null element has one form only."""

    def add(rows: SparkColumn, element: SparkColumn) -> SparkColumn:
        null = F.nullif(element, element)
        without = F.transform(rows, lambda row: F.array_append(row, null))
        with_ = F.transform(rows, lambda row: F.array_append(row, element))
        both = F.flatten(F.transform(F.arrays_zip(without.alias("a"), with_.alias("b")), _pair))
        return F.when(element.isNull(), without).otherwise(both)

    def _pair(zipped: SparkColumn) -> SparkColumn:
        return F.array(zipped["a"], zipped["b"])

    empty = F.array(F.slice(array, 1, 0))
    return F.when(F.size(array) > 0, F.aggregate(array, empty, add))


TABLES = (
    table(
        "EXPLODE",
        "One row per element of an array; none for an empty array or null.",
        overload("list ARRAY<T> -> T", lambda F, array: array),
        example=("EXPLODE(ARRAY[1, 2])", "[1, 2]"),
    ),
    table(
        "CUBE_EXPLODE",
        "One row per combination of the elements, each kept or replaced by null.",
        overload("columns ARRAY<T> -> ARRAY<T>", _cube),
        example=("CUBE_EXPLODE(ARRAY[1, 2])", "[[NULL, NULL], [NULL, 2], [1, NULL], [1, 2]]"),
    ),
)
