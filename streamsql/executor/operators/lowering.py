"""The lowering of an operator: its rows as a frame, of a stream or of a batch.

In a batch, a table that is read, or that an operator produces, is reduced to the latest row of each
key at once, so that the operators above see a table that does not change. Only a table that is
joined with a stream keeps its history: there a row is joined with the version of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import (
    END_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    Scope,
    quoted,
)
from streamsql.planner.operators import Operator
from streamsql.schema import Kind

Inputs = tuple[DataFrame, ...]
Op = TypeVar("Op", bound=Operator)


@dataclass(frozen=True)
class Lowering(Generic[Op]):
    """Lowers the operators of one class, over their lowered inputs."""

    stream: Callable[[Op, Inputs, Scope], DataFrame]
    batch: Callable[[Op, Inputs, Scope, bool], DataFrame]
    """Is also given whether the history of a table is needed, and not only the latest row of each
    key."""
    with_history: Callable[[Op], tuple[Operator, ...]] = lambda node: ()
    """The inputs whose history a batch needs."""


@cache
def lowering_of(operator: type[Operator]) -> Lowering[Any]:
    """The lowering of planner/operators/top_n.py is that of executor/operators/top_n.py."""
    module = operator.__module__.rpartition(".")[2]
    lowering: Lowering[Any] = import_module(f"streamsql.executor.operators.{module}").LOWERING
    return lowering


def row_by_row(
    stream: Callable[[Op, Inputs, Scope], DataFrame],
) -> Callable[[Op, Inputs, Scope, bool], DataFrame]:
    """The batch of an operator without state."""
    return lambda node, inputs, scope, history: stream(node, inputs, scope)


def latest(
    stream: Callable[[Op, Inputs, Scope], DataFrame],
) -> Callable[[Op, Inputs, Scope, bool], DataFrame]:
    """The batch of an operator whose rows may be changes of a table, several of a key."""

    def lower(node: Op, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
        rows = stream(node, inputs, scope)
        return rows if history or node.kind is Kind.STREAM else latest_rows(rows, node, scope)

    return lower


def present(node: Operator, inputs: Inputs) -> Inputs:
    return tuple(
        rows.where(~quoted(NULL_COLUMN)) if child.kind is Kind.TABLE else rows
        for child, rows in zip(node.inputs, inputs, strict=True)
    )


def latest_rows(rows: DataFrame, node: Operator, scope: Scope) -> DataFrame:
    key = [*(column.name for column in node.schema.key), START_COLUMN, END_COLUMN]
    rest = [name for name in rows.columns if name not in key and _is_needed(name, node, scope)]
    place = F.struct(quoted(OFFSET_COLUMN), quoted(PARTITION_COLUMN))
    last = F.max_by(F.struct(*map(quoted, rest)), place).alias("$last")
    found = rows.groupBy(*map(quoted, key)).agg(last)
    columns: Sequence[str] = [name for name in rows.columns if name in key or name in rest]
    return found.select(
        *(
            quoted(name) if name in key else quoted("$last").getField(name).alias(name)
            for name in columns
        )
    )


def _is_needed(name: str, node: Operator, scope: Scope) -> bool:
    """Whether an operator above reads the column, possibly under the name that Qualify gives it."""
    needed = scope.needed_above(node)
    if needed is None or name.startswith("$"):
        return True
    return any(other == name or other.endswith(f".{name}") for other in needed)
