"""The sources that a query reads by record key, and those whose keys its result has.

For these, the records of a key have to be in one partition, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators import Keys, Operator


@dataclass(frozen=True)
class Keyed:
    """Names of sources."""

    taken: tuple[str, ...]
    """Sources that are joined, or grouped or ordered by their key."""
    handed_on: tuple[str, ...]
    """Sources whose keys are part of the result's key."""


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
