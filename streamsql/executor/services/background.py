"""Starts services in the background and reports their progress. A service is any function that
creates a value."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from streamsql.errors import ExternalError, StreamSQLError, unexpected
from streamsql.status import StartupStep as StartupStep
from streamsql.status import StepState

T = TypeVar("T")

Report = Callable[[str, float | None], None]
"""Called by a starting service with its current step and progress."""


class Service(Generic[T]):
    """A value made in a thread of its own: `get` waits for it, or raises what went wrong."""

    def __init__(self, name: str, make: Callable[[Report], T]) -> None:
        self.name = name
        self._make = make
        self._done = threading.Event()
        self._step = StartupStep(name, StepState.WAITING)
        self._value: T | None = None
        self.error: StreamSQLError | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin making the value; returns at once."""
        self._step = StartupStep(self.name, StepState.RUNNING)
        self._thread = threading.Thread(target=self._run, name=f"start {self.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._make(self._report)
            self._step = StartupStep(self.name, StepState.DONE, self._step.detail, 1.0)
        except StreamSQLError as error:
            self._fail(error)
        except Exception as error:
            self._fail(unexpected(f"cannot start {self.name}", error))
        finally:
            self._done.set()

    def _fail(self, error: StreamSQLError) -> None:
        self.error = error
        self._step = StartupStep(self.name, StepState.FAILED, error.message)

    def _report(self, detail: str, fraction: float | None = None) -> None:
        self._step = StartupStep(self.name, StepState.RUNNING, detail, fraction)

    @property
    def step(self) -> StartupStep:
        return self._step

    @property
    def ready(self) -> bool:
        return self._done.is_set() and self.error is None

    def get(self, timeout: float | None = None) -> T:
        """The value, waited for; raises the service's error, or ExternalError after `timeout`."""
        if not self._done.wait(timeout):
            raise ExternalError(f"{self.name} is not up yet", retryable=True)
        if self.error is not None:
            raise self.error
        assert self._value is not None
        return self._value

    def peek(self) -> T | None:
        return self._value if self.ready else None

    def settle(self, timeout: float | None = None) -> T | None:
        """Wait until the making has ended, and the value if there is one: used for closing."""
        if self._thread is not None:
            self._done.wait(timeout)
        return self.peek()
