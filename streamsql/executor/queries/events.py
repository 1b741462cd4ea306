"""The events in the life of a query, and the effects that the manager executes for it."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.phases import CatchingUp, Deferred, Live
from streamsql.executor.queries.query import Health
from streamsql.executor.queries.spark_run import Failure, Run
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode


class Event:
    """Something that happens to a query."""


class PauseRequested(Event):
    """PAUSE."""


@dataclass(frozen=True)
class ResumeRequested(Event):
    """RESUME; `accepts` are the properties whose data loss the query tolerates."""

    accepts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplaceRequested(Event):
    """CREATE OR REPLACE, or a rebuild: another definition on the same checkpoint."""

    successor: Definition


@dataclass(frozen=True)
class StopRequested(Event):
    """TERMINATE or DROP."""

    keep_checkpoint: bool = False


class DrainRequested(Event):
    """Process once what the topics hold now."""


class DrainCancelled(Event):
    """No caller waits for the drain any longer."""


@dataclass(frozen=True)
class LeadershipChanged(Event):
    """This engine runs the queries of its service from now on, or another one does."""

    leads: bool


class EngineClosing(Event):
    """The engine stops all queries and starts none."""


class Tick(Event):
    """Time has passed."""


class StartDue(Event):
    """Nothing but its own delay keeps the query from starting."""


@dataclass(frozen=True)
class Started(Event):
    """A run has begun, at these positions and with this lag."""

    phase: Deferred | CatchingUp | Live
    positions: Positions
    lag: int
    mode: Mode | None = None
    """Of a live run."""
    reason: str | None = None
    """Why a live run is not in the planned mode."""


@dataclass(frozen=True)
class StartFailed(Event):
    """No run has begun."""

    failure: Failure
    outage: bool = False


@dataclass(frozen=True)
class RunEvent(Event):
    """Something that happens to one run; it says nothing of a later one."""

    run: Run | None


@dataclass(frozen=True)
class Observed(RunEvent):
    """A look at the query; without a run, of its lag."""

    health: Health


@dataclass(frozen=True)
class CaughtUp(RunEvent):
    """The run has read what there was, and ended."""

    positions: Positions | None


@dataclass(frozen=True)
class RunFailed(RunEvent):
    """The run has ended with an error, or with its JVM."""

    failure: Failure
    outage: bool = False


@dataclass(frozen=True)
class JvmDied(RunEvent):
    """The JVM has ended; `suspected`: the query may be why, `alone`: no other may."""

    suspected: bool
    alone: bool


@dataclass(frozen=True)
class RestartDue(RunEvent):
    """The live run is to make room for one that catches up or is in the other mode."""

    yields: str | None = None


@dataclass(frozen=True)
class RunStopped(RunEvent):
    """The run has certainly ended; `finished`: it had committed all that it had read."""

    finished: bool = False


@dataclass(frozen=True)
class StopTimedOut(RunEvent):
    """Spark was asked to stop the run, or looked at again, and the run has not ended."""

    finished: bool = False


class CheckpointDiscarded(Event):
    """Nothing refers to the checkpoint any more."""


# -- effects --


class Start:
    """Start the query: gives Started or StartFailed."""


@dataclass(frozen=True)
class Stop:
    """End the run, or (`asks` False) see whether it has ended: gives RunStopped or StopTimedOut."""

    run: Run
    asks: bool = True
    finishes: bool = False
    """Whether it is first to commit what it has read."""


@dataclass(frozen=True)
class Release:
    """Free what a run held that has ended by itself: gives RunStopped."""

    run: Run
    failure: Failure | None


class Forget:
    """The memory limits of the query no longer apply. Does not wait."""


class Discard:
    """Delete the checkpoint: gives CheckpointDiscarded."""


Effect = Start | Stop | Release | Forget | Discard
