"""The phases of a query, which are the states of its life cycle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamsql.executor.queries.spark_run import Run
from streamsql.kafka.positions import Positions


class Ready:
    """At rest; it starts as soon as it may."""


class Failed:
    """At rest after an error; it is started again later."""


class Held:
    """At rest until RESUME: it has repeatedly run out of memory, or crashed the JVM."""


class Paused:
    """At rest until RESUME, after PAUSE."""


class Suspended:
    """At rest because the engine closes, or another server of the service runs it."""


@dataclass(frozen=True)
class Deferred:
    """Running without Spark: it has nothing to read, so its run starts later."""

    began_at: float


@dataclass(frozen=True)
class CatchingUp:
    """Running in micro-batches over what its topics hold; the run ends by itself."""

    run: Run
    began_at: float
    began_with: Positions
    counted: bool = False
    """Whether this run is counted among those that a JVM crash has ended."""
    drains: bool = False
    """Whether it was started after a drain was asked for."""


@dataclass(frozen=True)
class Live:
    """Running continuously, in real time or in micro-batches."""

    run: Run
    began_at: float
    began_with: Positions
    counted: bool = False


@dataclass(frozen=True)
class Starting:
    """A worker prepares a run."""

    was: Deferred | None = None


@dataclass(frozen=True)
class Stopping:
    """Spark was asked to end the run, which may still read and write."""

    was: CatchingUp | Live
    attempts: int = 0
    look_at: float = math.inf
    """When to look again; infinite while a worker does."""
    finished: bool = False
    """Whether the run has committed all that it had read."""


class Removing:
    """Terminated, and its run has ended: a worker deletes its checkpoint."""


class Removed:
    """The end: the manager forgets it."""


Phase = (
    Ready | Failed | Held | Paused | Suspended
    | Starting | Deferred | CatchingUp | Live | Stopping | Removing | Removed
)  # fmt: skip
PHASES: tuple[type[Phase], ...] = Phase.__args__
