"""A persistent query as the query manager knows it: immutable, replaced by `lifecycle.step` alone.

A query has one phase (the states of the diagram), a goal (what statements and the engine ask of
it), the failures since it last made progress, and its health (how far it has read).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsql.executor.queries import mode_switch
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.failures import Failures
from streamsql.executor.queries.mode_switch import ModeSwitch
from streamsql.executor.queries.phases import (
    CatchingUp,
    Deferred,
    Live,
    Paused,
    Phase,
    Ready,
    Removing,
    Starting,
    Stopping,
)
from streamsql.executor.queries.spark_run import Run
from streamsql.executor.queries.status_poll import Progress
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode
from streamsql.status import QueryInfo, QueryState

NEAR = 5_000
"""Records: a query with less lag than this goes live without catching up first."""
MAX_ROUNDS = 5
"""The number of catch-ups after which a query goes live though it is not near the end."""
CATCHING_UP = "it is catching up with its topics"
STOPPING = "it is still stopping"
_RATE_SECONDS = 10.0


@dataclass(frozen=True)
class Goal:
    """The requested state of a query."""

    paused: bool = False
    removed: bool = False
    keep_checkpoint: bool = False
    """Whether the checkpoint of a removed query is kept."""
    successor: Definition | None = None
    """Its next definition, once its run has ended: CREATE OR REPLACE."""
    drain: bool = False
    """Process once all that its topics hold."""
    standby: bool = False
    """Another server of the service runs it."""
    closing: bool = False

    @property
    def to_stop(self) -> bool:
        """Whether a statement wants its run to end."""
        return self.paused or self.removed or self.successor is not None

    @property
    def suspended(self) -> bool:
        """Whether this engine runs no query."""
        return self.standby or self.closing


@dataclass(frozen=True)
class Use:
    """The load of a query, which decides who gets task slots."""

    rate: float = 0.0
    """Recent records per second."""
    asleep_since: float | None = None
    _read: int | None = None
    _at: float = 0.0

    def slept(self, now: float) -> float:
        """Seconds since it last got a record."""
        return 0.0 if self.asleep_since is None else now - self.asleep_since

    def saw(self, positions: Positions | None, asleep: bool, now: float) -> Use:
        """With the result of a check: its position, and whether it sleeps."""
        since, rate = self.asleep_since if asleep else None, self.rate
        if asleep and since is None:
            since, rate = now, 0.0
        if positions is None or now <= self._at:
            return replace(self, asleep_since=since, rate=rate)
        read = sum(sum(partitions.values()) for partitions in positions.values())
        if self._read is not None and read >= self._read:
            share = min(1.0, (now - self._at) / _RATE_SECONDS)
            rate += share * ((read - self._read) / (now - self._at) - rate)
        return Use(rate, since, read, now)


@dataclass(frozen=True)
class Health:
    """The position of a query, as of the last check: see health.py."""

    positions: Positions | None = None
    lag: int | None = None
    progress: Progress | None = None
    """The moment of `positions` and `lag`; None before the first of the present run."""
    asleep: bool = False
    """Whether it waits for its topics to get records, without cost."""
    held: str | None = None
    """What holds a view back, once it has waited for some time."""
    arrived: bool = False
    """Whether its live run has once processed all records; until then it catches up."""
    behind_since: float | None = None
    use: Use = field(default_factory=Use)
    switch: ModeSwitch = field(default_factory=ModeSwitch)
    look_at: float = 0.0

    def begun(self, positions: Positions, lag: int) -> Health:
        """As a run begins."""
        return replace(
            self,
            positions=positions,
            lag=lag,
            progress=None,
            asleep=False,
            held=None,
            arrived=lag == 0,
            behind_since=None,
            switch=self.switch.begun(),
            look_at=0.0,
        )

    def at(self, progress: Progress) -> Health:
        return replace(self, progress=progress, positions=progress.positions, lag=progress.lag)


@dataclass(frozen=True)
class Query:
    """One query at one moment."""

    definition: Definition
    phase: Phase = Ready()
    goal: Goal = Goal()
    failures: Failures = Failures()
    health: Health = field(default_factory=Health)
    accepting: Definition | None = None
    """Its definition while data loss is accepted (RESUME); in force until the engine ends."""
    finished: bool = False
    """Whether its last run has committed all that it had written, so that no batch is torn."""
    restored: bool = False
    """Whether it is older than this engine, and may wait for a record before it runs in Spark."""
    mode: Mode | None = None
    """The mode of its last live run, where that is not the planned one."""
    mode_reason: str | None = None
    yields: str | None = None
    """Why its next live run leaves its task slots to other queries."""
    rounds: int = 0
    """The number of consecutive catch-ups that did not get near the end."""
    read_rate: float | None = None
    """Records per second of its last long catch-up."""

    @property
    def id(self) -> str:
        return self.definition.id

    @property
    def active(self) -> Deferred | CatchingUp | Live | None:
        """The definition of its run, also while that is being started or stopped."""
        match self.phase:
            case Deferred() | CatchingUp() | Live():
                return self.phase
            case Starting(was=was) | Stopping(was=was):
                return was
        return None

    @property
    def run(self) -> Run | None:
        """Its run in Spark, until that has certainly ended."""
        active = self.active
        return active.run if isinstance(active, CatchingUp | Live) else None

    @property
    def busy(self) -> bool:
        """Whether a worker acts on it, or is about to."""
        return isinstance(self.phase, Starting | Stopping | Removing)

    @property
    def at_rest(self) -> bool:
        """Whether it certainly does nothing."""
        return self.active is None and not self.busy

    @property
    def meant(self) -> Definition:
        """Its present or next definition."""
        return self.goal.successor or self.definition

    @property
    def to_run(self) -> Definition:
        return self.accepting or self.definition

    @property
    def pending(self) -> bool:
        """Whether a pause, termination or replacement has yet to take effect."""
        goal = self.goal
        return (
            goal.removed
            or goal.successor is not None
            or (goal.paused and not isinstance(self.phase, Paused))
        )

    @property
    def draining(self) -> bool:
        """Whether it has yet to process what a drain asked for."""
        return not self.goal.paused and (self.goal.drain or isinstance(self.phase, Stopping))

    @property
    def real_time(self) -> bool:
        """Whether it runs in real time once it has caught up."""
        return (self.mode or self.definition.plan.mode.mode) is Mode.REAL_TIME

    @property
    def not_real_time(self) -> str | None:
        """Why its next live run is in micro-batches, though it could be in real time."""
        return self.yields or (mode_switch.REASON if self.health.switch.fell_behind else None)

    def accept(self, names: Iterable[str]) -> Query:
        """Tolerate the data loss that these properties accept."""
        properties = {**self.to_run.properties, **dict.fromkeys(names, "continue")}
        return replace(self, accepting=replace(self.definition, properties=properties))

    def succeeded(self) -> Query:
        """With its successor's definition."""
        assert self.goal.successor is not None
        return replace(
            self,
            definition=self.goal.successor,
            goal=replace(self.goal, successor=None),
            failures=Failures(),
            health=replace(self.health, switch=ModeSwitch()),
            accepting=None,
            mode=None,
            mode_reason=None,
            yields=None,
        )

    def catches_up_first(self, lags: Mapping[str, int], interrupted: bool) -> bool:
        """Whether its next run reads to the present ends: its topics' `lags` are large, or an
        `interrupted` run may have written a part."""
        if self.goal.drain:
            return True
        definition = self.definition
        waits = self.real_time or definition.by_interval or definition.merges
        if not waits or self.rounds >= MAX_ROUNDS:
            return False
        first = self.rounds == 0
        waiting = sum(1 for lag in lags.values() if lag)
        # Nothing is merged if all waiting records are of one topic, and no batch is torn.
        merges = first and definition.merges and not (self.finished and waiting <= 1)
        return (first and interrupted) or sum(lags.values()) > (0 if merges else NEAR)

    def defers(self, lag: int, *, full: bool = False) -> bool:
        """Whether it stays out of Spark until there is time, or a record arrives; `full`: whether
        Spark has no room for it."""
        definition = self.definition
        waits = (full and definition.may_rest) or (self.restored and definition.only_reacts)
        return waits and lag == 0 and not self.goal.drain

    def state(self, outage: str | None) -> QueryState:
        """The state that SHOW QUERIES shows; `outage`: of Kafka."""
        if isinstance(self.phase, Paused):
            return QueryState.PAUSED
        if outage is not None:
            return QueryState.WAITING
        active, lag = self.active, self.health.lag or 0
        if active is None:
            if self.failures.error is None:
                return QueryState.STARTING
            return QueryState.WAITING if self.failures.retryable else QueryState.ERROR
        if isinstance(active, CatchingUp) or (self.real_time and not self.health.arrived):
            return QueryState.CATCHING_UP
        if not (self.real_time or self.definition.by_interval) and lag > NEAR:
            return QueryState.CATCHING_UP
        return QueryState.RUNNING

    def info(self, outage: str | None) -> QueryInfo:
        """The row of SHOW QUERIES."""
        state = self.state(outage)
        if self.goal.standby and state is not QueryState.PAUSED:
            state = QueryState.STANDBY
        plan = self.definition.plan
        mode, reason = self.mode or plan.mode.mode, self.mode_reason or plan.mode.reason
        error: str | None = self.failures.error
        if isinstance(self.active, CatchingUp):
            mode, reason = Mode.MICRO_BATCH, CATCHING_UP
        if state is QueryState.STANDBY:
            reason, error = "another server of the service runs it", None
        elif state is QueryState.WAITING:
            reason = outage or error or reason
        elif self.goal.to_stop and isinstance(self.phase, Stopping):
            reason = STOPPING
        elif self.health.held and state in (QueryState.RUNNING, QueryState.CATCHING_UP):
            reason = self.health.held
        return QueryInfo(
            self.id,
            "PERSISTENT",
            state,
            mode.value,
            reason,
            None if state is QueryState.STANDBY else self.health.lag,
            self.definition.sql,
            self.definition.sink,
            error,
            plan.guarantee.value,
            asleep=self.health.asleep and state is QueryState.RUNNING,
        )
