"""The columns of an operator's rows that later operators read: joins and Top-N store only these."""

from __future__ import annotations

from streamsql.planner.operators import Operator
from streamsql.planner.types.binding import columns_in


def needed_columns(
    root: Operator, above: frozenset[str] = frozenset()
) -> dict[int, frozenset[str]]:
    """By the `id` of each operator, the names of the columns that the operators above it read.

    Spark does not know which columns of a packed row are used, so unused ones are not packed.
    """
    read = above | {c.name for e in root.expressions for c in columns_in(e)}
    below = [needed_columns(child, read) for child in root.inputs]
    return {id(root): above, **{k: v for found in below for k, v in found.items()}}
