"""Which columns of an operator's rows are read further up: joins and Top-N keep no others."""

from __future__ import annotations

from streamsql.planner.operators import Operator
from streamsql.planner.types.binding import columns_in


def needed_columns(
    root: Operator, above: frozenset[str] = frozenset()
) -> dict[int, frozenset[str]]:
    """Of each operator, by its `id`, the names of the columns that those above it read.

    Spark can not see which of a packed row's columns are used, so what is not is not packed.
    """
    read = above | {c.name for e in root.expressions for c in columns_in(e)}
    below = [needed_columns(child, read) for child in root.inputs]
    return {id(root): above, **{k: v for found in below for k, v in found.items()}}
