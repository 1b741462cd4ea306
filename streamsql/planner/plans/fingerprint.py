"""What of a plan its state and its offsets depend on, in words and as a number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from streamsql.planner.operators import Operator


def fingerprint(root: Operator) -> str:
    """The same for plans whose operators keep the same: in every process, and whatever rules have
    made of projections and of filters that keep nothing."""
    text = "\n".join(kept_parts(root, root))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept_parts(node: Operator, root: Operator) -> Iterator[str]:
    """A line for each operator that reads rows or keeps some, from the sources on."""
    for child in node.inputs:
        yield from kept_parts(child, root)
    yield from node.identity(root)
