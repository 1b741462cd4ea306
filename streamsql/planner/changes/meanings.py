"""What columns stand for, as expressions, so that their texts can be compared."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.schema import Column


def typed(column: Column) -> Expression:
    """Something of the column's type."""
    node = exp.Null()
    node.type = column.type
    return node
