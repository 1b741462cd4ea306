"""Functions on arrays and maps, those with lambdas included."""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.functions.base import Call, SparkColumn, always, overload, scalar
from streamsql.functions.maps import comparable, restored

_CATEGORY = "collection"
_MAX_SERIES = 1_000_000
"""Elements of a GENERATE_SERIES: one row must not eat the memory of all queries."""


def _same(F: Any, call: Call, element: SparkColumn, value: SparkColumn) -> SparkColumn:
    """Whether both are equal, or both null."""
    kind = call.arguments[1]
    return comparable(F, element, kind).eqNullSafe(comparable(F, value, kind))


def _as_sets(name: str) -> Any:
    """Spark's function of that name over arrays, maps in them too."""

    def impl(F: Any, call: Call, *arrays: SparkColumn) -> SparkColumn:
        plain = (comparable(F, array, call.result) for array in arrays)
        return restored(F, getattr(F, name)(*plain), call.result)

    return impl


def _contains(F: Any, call: Call, array: SparkColumn, value: SparkColumn) -> SparkColumn:
    found = F.exists(array, lambda element: _same(F, call, element, value))
    return F.coalesce(found, F.lit(False))


def _remove(F: Any, call: Call, array: SparkColumn, value: SparkColumn) -> SparkColumn:
    return F.filter(array, lambda element: ~_same(F, call, element, value))


def _both(F: Any, first: SparkColumn, second: SparkColumn, joined: SparkColumn) -> SparkColumn:
    """Of two collections that may be null; null only if both are."""
    return F.when(first.isNull(), second).when(second.isNull(), first).otherwise(joined)


def _concat(F: Any, first: SparkColumn, second: SparkColumn) -> SparkColumn:
    return _both(F, first, second, F.concat(first, second))


def map_union(F: Any, first: SparkColumn, second: SparkColumn) -> SparkColumn:
    """Spark may be set to refuse double keys: those that both have are left out of the first."""
    own = F.map_filter(first, lambda key, _: ~F.map_contains_key(second, key))
    return F.map_concat(own, second)


def _map_union(F: Any, first: SparkColumn, second: SparkColumn) -> SparkColumn:
    return _both(F, first, second, map_union(F, first, second))


def _sort(F: Any, array: SparkColumn, *direction: SparkColumn) -> SparkColumn:
    if not direction:
        return F.array_sort(array)
    way = F.upper(direction[0])
    return F.when(way.isin("ASC", "ASCENDING"), F.array_sort(array)).when(
        way.isin("DESC", "DESCENDING"), F.sort_array(array, asc=False)
    )


def _join(F: Any, call: Call, array: SparkColumn, *delimiter: SparkColumn) -> SparkColumn:
    element = types.element_type(call.arguments[0])
    texts = F.transform(array, lambda value: call.to_text(value, element))
    between = F.coalesce(delimiter[0], F.lit("")) if delimiter else F.lit(",")
    shown = F.transform(texts, lambda text: F.coalesce(text, F.lit("null")))
    return F.call_function("array_join", shown, between)


def _slice(F: Any, array: SparkColumn, first: SparkColumn, last: SparkColumn) -> SparkColumn:
    size = F.array_size(array)
    start, end = F.coalesce(first, F.lit(1)), F.coalesce(last, size)
    inside = (start >= 1) & (end <= size) & (start <= end + 1)
    return F.when(inside, F.slice(array, start, end - start + 1))


def _series(F: Any, start: SparkColumn, end: SparkColumn, *step: SparkColumn) -> SparkColumn:
    if step:
        by = step[0]
    else:
        by = F.when(start <= end, F.lit(1)).otherwise(F.lit(-1))
    towards = ((by > 0) & (end >= start)) | ((by < 0) & (end <= start))
    short = F.abs((end - start) / by) < _MAX_SERIES
    # Spark evaluates a branch for valid rows only, but wants a step that is never 0.
    return F.when(towards & short, F.sequence(start, end, by))


def _series_of_bigint(F: Any, start: SparkColumn, end: SparkColumn, *step: SparkColumn) -> Any:
    return _series(F, start, end, *(s.cast("bigint") for s in step or (_sign(F, start, end),)))


def _sign(F: Any, start: SparkColumn, end: SparkColumn) -> SparkColumn:
    return F.when(start <= end, F.lit(1)).otherwise(F.lit(-1))


def _entries(F: Any, map_: SparkColumn, sort: SparkColumn) -> SparkColumn:
    entries = F.transform(
        F.map_entries(map_), lambda e: F.struct(e["key"].alias("K"), e["value"].alias("V"))
    )
    return F.when(sort, F.array_sort(entries)).otherwise(entries)


def _as_map(F: Any, keys: SparkColumn, values: SparkColumn) -> SparkColumn:
    """Keys without a value have null; of a key that comes twice the last value counts. A null key,
    which Spark's maps cannot have, is the word that JSON has for it."""
    named = F.transform(keys, lambda key: F.coalesce(key, F.lit("null")))
    paired = F.transform(
        named, lambda key, i: F.struct(key.alias("k"), F.get(values, i).alias("v"), i.alias("i"))
    )
    last = F.filter(
        paired, lambda p: ~F.exists(paired, lambda q: (q["k"] == p["k"]) & (q["i"] > p["i"]))
    )
    entries = F.transform(last, lambda p: F.struct(p["k"], p["v"]))
    return F.when(values.isNotNull(), F.map_from_entries(entries))


def _transform_map(F: Any, map_: SparkColumn, key: Any, value: Any) -> SparkColumn:
    """Null where two new keys are equal, or a key or value is null."""
    entries = F.transform(
        F.map_entries(map_),
        lambda e: F.struct(
            key(e["key"], e["value"]).alias("k"), value(e["key"], e["value"]).alias("v")
        ),
    )
    keys = F.transform(entries, lambda e: e["k"])
    valid = F.array_size(F.array_distinct(keys)) == F.array_size(keys)
    valid = valid & ~F.exists(entries, lambda e: e["k"].isNull() | e["v"].isNull())
    return F.when(valid, F.map_from_entries(entries))


def _reduce(F: Any, array: SparkColumn, initial: SparkColumn, step: Any) -> SparkColumn:
    folded = F.when(initial.isNotNull(), F.aggregate(array, initial, step))
    return F.when(array.isNull(), initial).otherwise(folded)


def _reduce_map(F: Any, map_: SparkColumn, initial: SparkColumn, step: Any) -> SparkColumn:
    return _reduce(
        F, F.map_entries(map_), initial, lambda state, e: step(state, e["key"], e["value"])
    )


def _entries_type(given: tuple[types.SQLType, ...]) -> types.SQLType:
    kind = given[0]
    return types.array(types.struct([("K", types.key_type(kind)), ("V", types.element_type(kind))]))


COLLECTIONS = (
    scalar(
        "ARRAY_CONTAINS",
        "Whether an array contains an element; FALSE for a null array.",
        _CATEGORY,
        overload("array ARRAY<T>, value T -> BOOLEAN", _contains, with_call=True),
        example=("ARRAY_CONTAINS(ARRAY[1, 2], 2)", "TRUE"),
    ),
    scalar(
        "ARRAY_LENGTH",
        "The number of elements of an array.",
        _CATEGORY,
        overload("array ARRAY<T> -> INT", lambda F, array: F.array_size(array)),
        example=("ARRAY_LENGTH(ARRAY[1, 2])", "2"),
    ),
    scalar(
        "ARRAY_DISTINCT",
        "The distinct elements in order of their first occurrence.",
        _CATEGORY,
        overload("array ARRAY<T> -> ARRAY<T>", _as_sets("array_distinct"), with_call=True),
        example=("ARRAY_DISTINCT(ARRAY[2, 1, 2])", "[2, 1]"),
    ),
    scalar(
        "ARRAY_REMOVE",
        "The array without the elements that equal a value.",
        _CATEGORY,
        overload("array ARRAY<T>, value T -> ARRAY<T>", _remove, with_call=True),
        example=("ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", "[2]"),
    ),
    scalar(
        "ARRAY_CONCAT",
        "The concatenation of two arrays; null counts as an empty array.",
        _CATEGORY,
        overload("first ARRAY<T>, second ARRAY<T> -> ARRAY<T>", _concat),
        example=("ARRAY_CONCAT(ARRAY[1], ARRAY[2, 1])", "[1, 2, 1]"),
    ),
    scalar(
        "ARRAY_EXCEPT",
        "The distinct elements of the first array that are not in the second.",
        _CATEGORY,
        overload(
            "first ARRAY<T>, second ARRAY<T> -> ARRAY<T>", _as_sets("array_except"), with_call=True
        ),
        example=("ARRAY_EXCEPT(ARRAY[1, 2, 3], ARRAY[2])", "[1, 3]"),
    ),
    scalar(
        "ARRAY_INTERSECT",
        "The distinct elements that are in both arrays.",
        _CATEGORY,
        overload(
            "first ARRAY<T>, second ARRAY<T> -> ARRAY<T>",
            _as_sets("array_intersect"),
            with_call=True,
        ),
        example=("ARRAY_INTERSECT(ARRAY[1, 2, 3], ARRAY[3, 2])", "[2, 3]"),
    ),
    scalar(
        "ARRAY_UNION",
        "The distinct elements of both arrays.",
        _CATEGORY,
        overload(
            "first ARRAY<T>, second ARRAY<T> -> ARRAY<T>", _as_sets("array_union"), with_call=True
        ),
        example=("ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", "[1, 2, 3]"),
    ),
    scalar(
        "ARRAY_MAX",
        "The greatest element; nulls are skipped.",
        _CATEGORY,
        overload("array ARRAY<T> -> T", lambda F, array: F.array_max(array)),
        example=("ARRAY_MAX(ARRAY[1, 3, NULL])", "3"),
    ),
    scalar(
        "ARRAY_MIN",
        "The least element; nulls are skipped.",
        _CATEGORY,
        overload("array ARRAY<T> -> T", lambda F, array: F.array_min(array)),
        example=("ARRAY_MIN(ARRAY[3, 1, NULL])", "1"),
    ),
    scalar(
        "ARRAY_SORT",
        "The array sorted, or with 'DESC' in descending order; nulls sort last.",
        _CATEGORY,
        overload("array ARRAY<T> -> ARRAY<T>", _sort),
        overload("array ARRAY<T>, direction STRING -> ARRAY<T>", _sort),
        example=("ARRAY_SORT(ARRAY[2, NULL, 1])", "[1, 2, NULL]"),
    ),
    scalar(
        "ARRAY_JOIN",
        "The elements joined to a text with a delimiter.",
        _CATEGORY,
        overload("array ARRAY<T> -> STRING", _join, with_call=True),
        overload("array ARRAY<T>, delimiter STRING -> STRING", _join, with_call=True),
        example=("ARRAY_JOIN(ARRAY[1, NULL, 2], '-')", "'1-null-2'"),
    ),
    scalar(
        "SLICE",
        "The elements from start to end, counted from 1, inclusive.",
        _CATEGORY,
        overload("array ARRAY<T>, first INT, last INT -> ARRAY<T>", _slice),
        example=("SLICE(ARRAY[1, 2, 3, 4], 2, 3)", "[2, 3]"),
    ),
    scalar(
        "GENERATE_SERIES",
        "The numbers from start to end, inclusive.",
        _CATEGORY,
        overload("start INT, end INT -> ARRAY<INT>", _series),
        overload("start INT, end INT, step INT -> ARRAY<INT>", _series),
        overload("start BIGINT, end BIGINT -> ARRAY<BIGINT>", _series_of_bigint),
        overload("start BIGINT, end BIGINT, step INT -> ARRAY<BIGINT>", _series_of_bigint),
        fallible=f"the step leads away from the end, or to more than {_MAX_SERIES} elements",
        example=("GENERATE_SERIES(1, 7, 3)", "[1, 4, 7]"),
    ),
    scalar(
        "ENTRIES",
        "The entries of a map as an array, optionally sorted by key.",
        _CATEGORY,
        overload("map MAP<K, V>, sorted BOOLEAN -> ARRAY<K>", _entries, returns=_entries_type),
        example=("ENTRIES(MAP('b' := 1, 'a' := 2), TRUE)", "[{K: 'a', V: 2}, {K: 'b', V: 1}]"),
    ),
    scalar(
        "AS_MAP",
        "The map with the keys of one array and the values of another.",
        _CATEGORY,
        overload("keys ARRAY<STRING>, values ARRAY<T> -> MAP<STRING, T>", _as_map),
        example=("AS_MAP(ARRAY['a', 'b'], ARRAY[1, 2])", "{'a': 1, 'b': 2}"),
    ),
    scalar(
        "MAP_KEYS",
        "The keys of a map, in unspecified order.",
        _CATEGORY,
        overload("map MAP<K, V> -> ARRAY<K>", lambda F, map_: F.map_keys(map_)),
        example=("MAP_KEYS(MAP('a' := 1))", "['a']"),
    ),
    scalar(
        "MAP_VALUES",
        "The values of a map, in unspecified order.",
        _CATEGORY,
        overload("map MAP<K, V> -> ARRAY<V>", lambda F, map_: F.map_values(map_)),
        example=("MAP_VALUES(MAP('a' := 1))", "[1]"),
    ),
    scalar(
        "MAP_UNION",
        "The entries of both maps; the second map wins for common keys.",
        _CATEGORY,
        overload("first MAP<K, V>, second MAP<K, V> -> MAP<K, V>", _map_union),
        example=("MAP_UNION(MAP('a' := 1), MAP('a' := 2, 'b' := 3))", "{'a': 2, 'b': 3}"),
    ),
    scalar(
        "TRANSFORM",
        "The array or map with a lambda applied to each element, or to each key and value.",
        _CATEGORY,
        overload(
            "array ARRAY<T>, mapper (T) => U -> ARRAY<U>",
            lambda F, array, mapper: F.transform(array, mapper),
            safe=always,
        ),
        overload(
            "map MAP<K, V>, keyMapper (K, V) => L, valueMapper (K, V) => U -> MAP<L, U>",
            _transform_map,
        ),
        fallible="two keys are the same, or a key or value is null",
        example=("TRANSFORM(ARRAY[1, 2], x => x * 10)", "[10, 20]"),
    ),
    scalar(
        "FILTER",
        "The elements or entries for which a lambda is true.",
        _CATEGORY,
        overload(
            "array ARRAY<T>, condition (T) => BOOLEAN -> ARRAY<T>",
            lambda F, array, condition: F.filter(array, condition),
        ),
        overload(
            "map MAP<K, V>, condition (K, V) => BOOLEAN -> MAP<K, V>",
            lambda F, map_, condition: F.map_filter(map_, condition),
        ),
        example=("FILTER(ARRAY[1, 2, 3], x => x > 1)", "[2, 3]"),
    ),
    scalar(
        "REDUCE",
        "The result of folding the elements by a lambda, starting from an initial state.",
        _CATEGORY,
        overload("array ARRAY<T>, initial S, reducer (S, T) => S -> S", _reduce),
        overload("map MAP<K, V>, initial S, reducer (S, K, V) => S -> S", _reduce_map),
        example=("REDUCE(ARRAY[1, 2, 3], 0, (total, x) => total + x)", "6"),
    ),
)
