"""The threads that wait for Spark: each effect of the life cycle runs in one of them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection

_log = logging.getLogger("streamsql.queries")
WORKERS = 4
STUCK_SECONDS = 20.0
"""The deadline of an action: after it the action's thread no longer counts among the workers."""
STUCK_MOST = 32
"""Beyond this number of stuck threads none is replaced."""
Action = Callable[[], None]


def needs_thread(due: int, began: Collection[float], now: float) -> bool:
    """Whether the actions that are due need one more thread; `began`: when each thread began its
    action, infinite for an idle one."""
    idle = sum(each == math.inf for each in began)
    stuck = count_stuck(began, now)
    return due > idle and len(began) - stuck < WORKERS and stuck < STUCK_MOST


def count_stuck(began: Collection[float], now: float) -> int:
    """How many threads have passed the deadline of their action."""
    return sum(each < now - STUCK_SECONDS for each in began)


class Workers:
    """A pool of threads. Py4j has no deadline: a thread whose action does not end in time is
    replaced, so that other queries can be started and stopped."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: deque[Action] = deque()
        self._began: dict[threading.Thread, float] = {}
        self._closing = False

    def run(self, action: Action, *, first: bool = False) -> None:
        """Run an action that raises nothing; `first`: before the others that are due."""
        with self._changed:
            if self._closing:
                return
            (self._due.appendleft if first else self._due.append)(action)
            self._changed.notify()
        self.replace_stuck()

    def replace_stuck(self) -> None:
        """Start the threads that the actions that are due need."""
        with self._changed:
            now = time.monotonic()
            if not needs_thread(len(self._due), self._began.values(), now):
                return
            if stuck := count_stuck(self._began.values(), now):
                _log.warning("%d starts or stops of queries hang in Spark", stuck)
            thread = threading.Thread(target=self._work, name="query", daemon=True)
            self._began[thread] = math.inf
            thread.start()

    def close(self) -> None:
        """Wait for the actions that run, unless they are stuck, and start no others."""
        with self._changed:
            self._closing = True
            self._due.clear()
            self._changed.notify_all()
            while len(self._began) > self._stuck():
                self._changed.wait(0.1)

    def _stuck(self) -> int:
        return count_stuck(self._began.values(), time.monotonic())

    def _work(self) -> None:
        this = threading.current_thread()
        while (action := self._next(this)) is not None:
            action()

    def _next(self, thread: threading.Thread) -> Action | None:
        """The next action for a thread; None: it is to end, as do those that were replaced."""
        with self._changed:
            self._began[thread] = math.inf
            surplus = len(self._began) - self._stuck() > WORKERS
            while not (self._due or self._closing or surplus):
                self._changed.wait()
            if surplus or not self._due:
                del self._began[thread]
                self._changed.notify_all()
                return None
            self._began[thread] = time.monotonic()
            return self._due.popleft()
