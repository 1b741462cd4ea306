"""Filter: WHERE and HAVING; a table's row that fails deletes the one that has passed before."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import predicate
from streamsql.executor.frames.context import END_COLUMN, NULL_COLUMN, Scope, quoted
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.frames.keyed import (
    input_rows,
    key_columns,
    operate,
    packed_key,
    primary_key,
    unpacked,
)
from streamsql.executor.operators.lowering import Inputs, Lowering
from streamsql.nodes import Emit
from streamsql.planner.operators import Aggregate, Filter
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import Kind, WindowType

_PASSES = "$passes"
_EXPIRES = "$expires"


def lower(node: Filter, inputs: Inputs, scope: Scope) -> DataFrame:
    """The rows that pass; for a table, tombstones for those that do not, or no longer, pass."""
    (rows,) = inputs
    passing = passes(node, scope)
    if node.kind is Kind.STREAM or scope.emit is Emit.FINAL:
        # A final result that fails was never written: there is nothing to delete.
        return rows.where(passing)
    if not node.remembers(scope.root):
        return rows.withColumn(NULL_COLUMN, ~passing)
    return _remembering(node, rows, passing, scope)


def passes(node: Filter, scope: Scope) -> Column:
    """Whether a row of the input passes; one without a value does not."""
    step = "Having" if node.clause == "HAVING" else "Where"
    condition = predicate(node.condition, expression_context(node.input.schema, scope, step))
    # The condition is not evaluated for a row without a value: its failure would be reported.
    return F.when(quoted(NULL_COLUMN), F.lit(False)).otherwise(F.coalesce(condition, F.lit(False)))


def _remembering(node: Filter, rows: DataFrame, passes: Column, scope: Scope) -> DataFrame:
    """Of the failing rows, only those whose key has passed before, as deletions."""
    closes = _closes(node)
    # TableFilter reads from the first columns whether a row passes, and when that expires.
    expires = F.lit(None).cast("bigint") if closes is None else closes
    judged = rows.select(passes.alias(_PASSES), expires.alias(_EXPIRES), *map(quoted, rows.columns))
    key = packed_key(judged, primary_key(node.schema.key), scope)
    row = scope.jvm.pack(F.struct(*map(quoted, judged.columns)), judged.schema)
    keyed = input_rows(judged, key, row)
    scope.layouts.add(
        "tables.TableFilter",
        f"{node.clause} {expression_text(node.condition)}",
        key_columns(node.schema.key),
        (),
    )
    passed = operate(
        [keyed], "tables.TableFilter", len(judged.columns), closes is not None, scope=scope
    )
    after = passed.select(unpacked("after", judged.schema, scope).alias("$row"))
    fields = after.select(*(quoted("$row").getField(name).alias(name) for name in judged.columns))
    return fields.withColumn(NULL_COLUMN, ~quoted(_PASSES)).select(*map(quoted, rows.columns))


def _closes(node: Filter) -> Column | None:
    """End of the row's window in event time; None without window."""
    if not isinstance(node.input, Aggregate) or node.input.window is None:
        return None
    window = node.input.window
    assert window.grace is not None, "the planner fills in the default"
    gap = window.size.ms if window.type is WindowType.SESSION else 0
    return quoted(END_COLUMN) + F.lit(gap + window.grace.ms + 1)


def _batch(node: Filter, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    """A table's row that fails is deleted: in a table that does not change, it is dropped."""
    if node.kind is Kind.STREAM:
        return lower(node, inputs, scope)
    return inputs[0].withColumn(NULL_COLUMN, ~passes(node, scope))


LOWERING = Lowering(lower, _batch)
