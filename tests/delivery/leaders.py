"""Which of several servers leads, and how it is kept from noticing that it does no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from soak.server_process import ServerProcess


def leads(server: ServerProcess) -> bool:
    return "STANDBY" not in server.states().values()


@contextmanager
def stopped(server: ServerProcess) -> Iterator[None]:
    """The server and its Spark are stopped by SIGSTOP."""
    process = psutil.Process(server.pid)
    family = [process, *process.children(recursive=True)]
    for each in family:
        each.suspend()
    try:
        yield
    finally:
        for each in reversed(family):
            each.resume()
