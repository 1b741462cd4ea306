"""The parts of a plan that its state and offsets depend on, as text and as a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from streamsql.planner.operators import Operator


def fingerprint(root: Operator) -> str:
    """Equal for plans with equal state, in every process, whatever the rules have done to
    projections and stateless filters."""
    text = "\n".join(kept_parts(root, root))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept_parts(node: Operator, root: Operator) -> Iterator[str]:
    """A line for each operator that reads or stores rows, from the sources on."""
    for child in node.inputs:
        yield from kept_parts(child, root)
    yield from node.identity(root)
