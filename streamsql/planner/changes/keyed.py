"""Which sources a query takes by the keys of their records, and whose keys its result has.

For these it matters that the records of a key are in one partition, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators import Keys, Operator


@dataclass(frozen=True)
class Keyed:
    """Names of sources."""

    taken: tuple[str, ...]
    """Those that are joined, or whose rows are grouped by their key or follow each other by it."""
    handed_on: tuple[str, ...]
    """Those whose keys are in the keys of the result."""


def keyed(root: Operator) -> Keyed:
    taken: dict[str, None] = {}
    keys = _keys(root, taken)
    result = {column.name for column in root.schema.key}
    return Keyed(tuple(taken), tuple(name for name, columns in keys.items() if columns & result))


def _keys(node: Operator, taken: dict[str, None]) -> Keys:
    keys: dict[str, frozenset[str]] = {}
    for below in node.inputs:
        keys.update(_keys(below, taken))
    taken |= dict.fromkeys(node.keyed_sources(keys))
    return node.keys_made(keys)
