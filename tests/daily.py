"""The share of a part of `make soak` that runs on one day, as scripts/soak.py sets it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
UNTIL = float(os.environ.get("STREAMSQL_TEST_UNTIL", "inf"))
"""No test begins after it, in seconds since 1970."""
ROTATION = int(os.environ.get("STREAMSQL_TEST_ROTATION", "0"))
_GOLDEN = 0.618034
"""Its multiples lie apart from each other, modulo 1."""


def rotated(items: Sequence[T], times: int) -> list[T]:
    """The items in their order, from another one on each time."""
    first = int(len(items) * (times * _GOLDEN % 1))
    return [*items[first:], *items[:first]]


def skip_if_late(until: float) -> None:
    if time.time() > until:
        pytest.skip("no time is left for it today")
