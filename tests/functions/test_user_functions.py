"""Functions of Python text."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamsql.functions.user import check_code

CODE = "def few(x):\n    assert len(x) < 3\n    return len(x)"


class Garbage:
    """A cycle, whose end is Python code: other threads run within a collection."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


@pytest.fixture
def frequent_collections() -> Iterator[None]:
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("frequent_collections")
def test_threads_check_texts_at_once() -> None:
    def check() -> int:
        checked, end = 0, time.monotonic() + 0.5
        while time.monotonic() < end:
            Garbage()
            check_code(CODE, ["x"])
            checked += 1
        return checked

    with ThreadPoolExecutor(4) as threads:
        checks = [threads.submit(check) for _ in range(4)]
        assert all(one.result() for one in checks)
