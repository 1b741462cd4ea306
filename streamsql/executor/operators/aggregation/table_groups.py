"""GROUP BY over a table, by two keyed operators: the first has the previous rows, the second
retracts them from their groups and adds the new rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import (
    HEADERS_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.keyed import key_columns, packed_headers, packed_key, primary_key
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.executor.frames.table_changes import pair, table_changes
from streamsql.executor.operators.aggregation.grouping import (
    ORDER,
    Grouping,
    arrival,
    has_group,
    keeps_headers,
    operated,
)

_SIGN = "$sign"
_PRIMARY_KEY = "$primary_key"


def lower(rows: DataFrame, grouped: Grouping, scope: Scope) -> DataFrame:
    prepared = _prepare(rows, grouped)
    # TableGroups finds the sign in the first column.
    names = [_SIGN, *grouped.needed, ORDER]
    values = prepared.select(*map(quoted, names))
    totals = values.groupBy().agg(*grouped.results(scope, quoted(_SIGN)))
    group = scope.jvm.pack(grouped.key(), grouped.key_type)
    arguments = scope.jvm.pack(F.struct(*map(quoted, names)), values.schema)
    member = F.when(_is_member(grouped, scope), pair(group, arguments, scope))
    headers = packed_headers(scope) if keeps_headers(grouped.node) else None
    key = packed_key(prepared, quoted(_PRIMARY_KEY), scope)
    buffers = scope.jvm.aggregate_buffers(totals)
    primary = key_columns(grouped.node.input.schema.key)
    row = (*columns_of_type(grouped.key_type), *columns_of_type(values.schema))
    scope.layouts.add("tables.TableChanges", grouped.text, primary, row)
    scope.layouts.add(
        "aggregates.TableGroups",
        grouped.text,
        columns_of_type(grouped.key_type),
        grouped.layout(buffers),
    )
    return operated(
        table_changes(prepared, key, member, scope, headers),
        "aggregates.TableGroups",
        buffers,
        len(names),
        grouped=grouped,
        totals=totals,
        scope=scope,
    )


def _prepare(rows: DataFrame, grouped: Grouping) -> DataFrame:
    """Keys and arguments, which are not computed for deleted rows, and the primary key."""
    present = ~quoted(NULL_COLUMN)
    names = [*grouped.key_names, *grouped.needed]
    values = [*grouped.keys, *grouped.needed.values()]
    computed = [
        F.when(present, value).alias(name) for name, value in zip(names, values, strict=True)
    ]
    system = (TIME_COLUMN, NULL_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN, HEADERS_COLUMN)
    return rows.select(
        F.lit(1).alias(_SIGN),
        *computed,
        arrival(),
        primary_key(grouped.node.input.schema.key).alias(_PRIMARY_KEY),
        *map(quoted, system),
    )


def _is_member(grouped: Grouping, scope: Scope) -> Column:
    """Whether a row is in a group; an excluded row is not."""
    return F.when(quoted(NULL_COLUMN), F.lit(False)).otherwise(has_group(grouped.key_names, scope))
