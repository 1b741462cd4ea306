"""Work that repeats in the background of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(step: Callable[[], object], pause: float = 0.0) -> Iterator[None]:
    """Take the step again and again, with a pause in seconds before each, until the block ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(pause):
            step()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
