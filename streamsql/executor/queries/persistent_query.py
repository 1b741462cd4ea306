"""A persistent query as the query manager keeps it: what it is to do, and where it stands."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from enum import Enum

from streamsql.errors import ExternalError
from streamsql.executor.queries import mode_switch
from streamsql.executor.queries.mode_switch import ModeSwitch
from streamsql.executor.queries.pulse import Progress
from streamsql.executor.queries.spark_run import Run
from streamsql.kafka.positions import Positions, distance
from streamsql.log.entries import Offsets
from streamsql.nodes import Emit
from streamsql.planner.operators import FileSink, Join, Sink, operators
from streamsql.planner.plans.modes import time_decides
from streamsql.planner.plans.query_plan import Mode, QueryPlan
from streamsql.status import QueryInfo, QueryState
from streamsql.waiting import Backoff

_log = logging.getLogger("streamsql.queries")
# Who has set up no log, as the shell has not, sees what happens in SHOW QUERIES.
_log.addHandler(logging.NullHandler())

RETRY = Backoff(1.0, 60.0)
STOP_LOOK_SECONDS = 1.0
"""How often a run is looked at that Spark was asked to stop and that has not ended."""
ASK_EVERY = 30
"""So many looks lie between two requests to Spark, each of which may take its timeout."""
_MEMORY_SECONDS = 10.0
MAX_ROUNDS = 5
"""A query that never gets near the end, since records come as fast, goes live all the same."""
CATCHING_UP = "it is catching up with what its topics hold"
STOPPING = "Spark was asked to stop it, and it has not ended yet"
MANY = 10_000
"""Records: what reading fewer takes says nothing of how fast many are read."""


class Activity(Enum):
    """What a run does: everything up to now in large batches, or record by record as they come."""

    CATCHING_UP = "catching up"
    LIVE = "live"


@dataclass(frozen=True)
class Definition:
    """What makes a query what it is; fixed from its statement on."""

    id: str
    sql: str
    plan: QueryPlan
    sink: str
    topics: tuple[str, ...]
    """The topics it reads."""
    properties: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: Offsets | None = None
    """None: from the beginning."""
    generation: int = 0
    """The number of the statement that made it: ids may come again, and a checkpoint belongs to one
    query only. CREATE OR REPLACE goes on with the same."""

    @property
    def writes(self) -> str | None:
        """The topic it writes to."""
        root = self.plan.root
        return root.target.topic.name if isinstance(root, Sink) else None

    @property
    def by_interval(self) -> bool:
        """Whether, once it has caught up, it takes what has come in an interval together."""
        return isinstance(self.plan.root, FileSink)

    @property
    def merges(self) -> bool:
        """Whether the order of records across topics matters: only a micro-batch, which sees all
        that is there, can take them by time."""
        return len(self.topics) > 1

    @property
    def only_reacts(self) -> bool:
        """Whether nothing is ever to be written but for a record that comes."""
        joins = any(isinstance(operator, Join) for operator in operators(self.plan.root))
        timeless = not (joins or self.merges or time_decides(self.plan.root))
        return timeless and self.plan.emit is not Emit.FINAL


@dataclass(frozen=True)
class KnownQuery:
    """A query as the statement log has it."""

    definition: Definition
    paused: bool = False
    read_rate: float | None = None
    """Records a second, as it last caught up with many; None: it has not, in this engine."""


@dataclass
class Use:
    """How much a query has to do: by that the task slots are shared out."""

    rate: float = 0.0
    """Records a second, of late."""
    asleep_since: float | None = None
    _read: int | None = None
    _at: float = 0.0

    def slept(self, now: float) -> float:
        """Seconds since it last got a record."""
        return 0.0 if self.asleep_since is None else now - self.asleep_since

    def saw(self, positions: Positions | None, asleep: bool, now: float) -> None:
        """Note how far it has read, and whether it sleeps."""
        if not asleep:
            self.asleep_since = None
        elif self.asleep_since is None:
            self.asleep_since, self.rate = now, 0.0
        if positions is None or now <= self._at:
            return
        read = sum(sum(partitions.values()) for partitions in positions.values())
        if self._read is not None and read >= self._read:
            share = min(1.0, (now - self._at) / _MEMORY_SECONDS)
            self.rate += share * ((read - self._read) / (now - self._at) - self.rate)
        self._read, self._at = read, now


@dataclass(eq=False)
class PersistentQuery:
    """One query; the manager's thread and workers change it, never two at a time."""

    definition: Definition
    paused: bool = False
    accepting: Definition | None = None
    """What is run in place of its definition while it goes on without records that are lost."""
    removed: bool = False
    finished: bool = False
    """Whether its last run has stopped with all committed that it had written: the next one finds
    no batch that was interrupted."""
    keep_checkpoint: bool = False
    """What is to become of its checkpoint when it is removed."""
    successor: Definition | None = None
    """What it is to be once it has stopped: CREATE OR REPLACE."""
    run: Run | None = None
    """Its run, until that has certainly ended."""
    stops: int = 0
    """How often its run was asked to stop, or looked at since."""
    activity: Activity = Activity.CATCHING_UP
    mode: Mode | None = None
    """Of the live run; None while the plan's own is meant."""
    mode_reason: str | None = None
    work: Future[None] | None = None
    """What is being done to it just now: it is started or stopped."""
    positions: Positions | None = None
    lag: int | None = None
    progress: Progress | None = None
    """The moment of which `positions` and `lag` are; None before the first of the present run."""
    error: str | None = None
    retryable: bool = False
    failures: int = 0
    retry_at: float = 0.0
    exhausted: int = 0
    """How often in a row it has asked for more memory than there is: see deaths.py."""
    deaths: int = 0
    """How often in a row the JVM has died while it was at work."""
    alone: bool = False
    """Whether the last time no other query could have been the cause."""
    blamed: bool = False
    """Whether its present run was there when the JVM died, and that is counted."""
    held: bool = False
    """Whether it is not to run until somebody says so."""
    began_at: float = 0.0
    """When its present run began."""
    began_with: Positions | None = None
    """Where it was then."""
    live_since: float | None = None
    behind_since: float | None = None
    arrived: bool = False
    """Whether its live run has once processed all that there was, or had nothing to: until its
    tasks are there, and what came meanwhile is processed, it catches up."""
    rounds: int = 0
    """How often it has caught up in a row without being near the end afterwards."""
    started_at: float = 0.0
    """When its present run was started."""
    look_at: float = 0.0
    """When its run is to be looked at again."""
    asleep: bool = False
    """Whether it waits for its topics to get records, and costs nothing meanwhile."""
    use: Use = field(default_factory=Use)
    read_rate: float | None = None
    """See KnownQuery."""
    yields: str | None = None
    """Why its next live run is to leave its task slots to others."""
    switch: ModeSwitch = field(default_factory=ModeSwitch)
    restored: bool = False
    """Whether it ran before this engine: then it need not run again before there is a record."""
    drain: bool = False
    """Asked to process, once, all that is there."""
    drain_since: float = 0.0
    settled: threading.Event = field(default_factory=threading.Event)
    """Set when what was asked (pause, removal, drain) is done, or the attempt has failed."""

    @property
    def id(self) -> str:
        """Its definition's."""
        return self.definition.id

    @property
    def busy(self) -> bool:
        """Whether something is being done to it just now."""
        return self.work is not None and not self.work.done()

    @property
    def meant(self) -> Definition:
        """What it is, or is about to be."""
        return self.successor or self.definition

    def stop_run(self, *, finishes: bool) -> bool:
        """Stop its run; whether the run has certainly ended. `finishes`: it is to commit first what
        it has read. To be called again, after `look_at`, until the run has ended."""
        if self.run is None:
            return True
        if finishes and self.stops == 0:
            self.finished = self.run.finish()
        asks = self.stops % ASK_EVERY == 0
        self.stops += 1
        ended = self.run.stop() if asks else not self.run.active()
        self.look_at = time.monotonic() + STOP_LOOK_SECONDS
        return ended

    @property
    def has_paused(self) -> bool:
        """Whether it is paused and certainly does nothing any more."""
        return self.paused and self.run is None and not self.busy

    @property
    def to_stop(self) -> bool:
        """Whether no run of it is to go on as it is."""
        return self.paused or self.removed or self.successor is not None

    def succeeded(self) -> None:
        """It has stopped: from now on it is what was to come after it."""
        if self.successor is not None:
            self.definition, self.successor, self.accepting = self.successor, None, None
            self.mode = self.mode_reason = self.yields = None
            self.switch = ModeSwitch()
            self.recovered()

    @property
    def real_time(self) -> bool:
        """Whether it runs in real time once it has caught up."""
        return (self.mode or self.definition.plan.mode.mode) is Mode.REAL_TIME

    @property
    def not_real_time(self) -> str | None:
        """Why its next live run is to be in micro-batches, though it could be in real time."""
        return self.yields or (mode_switch.REASON if self.switch.fell_behind else None)

    @property
    def to_run(self) -> Definition:
        """What is to be run of it."""
        return self.accepting or self.definition

    def accept(self, names: Iterable[str]) -> None:
        """Do not stop for what these properties are about, until this engine ends."""
        properties = {**self.to_run.properties, **dict.fromkeys(names, "continue")}
        self.accepting = replace(self.definition, properties=properties)

    def is_to_catch_up(self, lags: Mapping[str, int], near: int, interrupted: bool) -> bool:
        """Whether its next run is to be over what is there: of its topics' `lags` more than `near`,
        or what a run that was `interrupted` may have written in part."""
        if self.drain:
            return True
        waits = self.real_time or self.definition.by_interval or self.definition.merges
        if not waits or self.rounds >= MAX_ROUNDS:
            return False
        first = self.rounds == 0
        waiting = sum(1 for lag in lags.values() if lag)
        # Where all that waits is in one topic, and what was before is done, nothing is merged.
        merges = first and self.definition.merges and not (self.finished and waiting <= 1)
        return (first and interrupted) or sum(lags.values()) > (0 if merges else near)

    def begun(self, run: Run, activity: Activity) -> None:
        """Note that it runs now."""
        self.finished = False
        self.run, self.activity, self.asleep, self.restored = run, activity, False, False
        self.arrived = self.lag == 0
        self.began_at, self.blamed, self.stops = time.monotonic(), False, 0
        self.began_with = self.positions
        self.switch.begun()
        if activity is Activity.LIVE:
            self.yields = None
        mode = "real-time" if activity is Activity.LIVE and self.real_time else "micro-batch"
        more = {"query_id": self.id, "mode": mode}
        _log.info("query is %s", activity.value, extra=more)

    def was_at(self, progress: Progress) -> None:
        """Note how far it was."""
        self.progress = progress
        self.positions, self.lag = progress.positions, progress.lag

    def give_up_drain(self) -> None:
        """A drain goes on over outages, but not over errors that come again and again."""
        if self.drain and not self.retryable and self.failures >= 3:
            self.settled.set()

    def failed(self, text: str, retryable: bool, now: float) -> None:
        """Note a failure and when to try again: later after each."""
        _log.warning("query failed: %s", text, extra={"query_id": self.id})
        self.error, self.retryable = text, retryable
        self.failures += 1
        self.retry_at = now + RETRY.after(self.failures)

    def steady(self) -> None:
        """It has run for a while; over what it failed by, perhaps, only if it has come further."""
        if self.lag == 0 or self.positions != self.began_with:
            self.recovered()
        else:
            self.error, self.retryable, self.failures, self.retry_at = None, False, 0, 0.0

    def caught_up(self, positions: Positions | None, now: float) -> None:
        """Its run has read what there was."""
        self.positions, seconds = positions or self.positions, now - self.began_at
        read = distance(self.began_with or {}, self.positions or {})
        if read >= MANY and seconds > 0:
            self.read_rate = read / seconds
        self.rounds += 1
        self.recovered()

    def recovered(self) -> None:
        """Forget past failures: it works again."""
        self.error, self.retryable, self.failures, self.retry_at = None, False, 0, 0.0
        self.exhausted, self.deaths, self.held = 0, 0, False

    def state(self, outage: str | None, near: int) -> QueryState:
        """Where it stands; `outage` tells what is lost for now, `near` what lag is little."""
        if self.has_paused:
            return QueryState.PAUSED
        if outage is not None:
            return QueryState.WAITING
        if self.run is None:
            if self.error is None:
                return QueryState.STARTING
            return QueryState.WAITING if self.retryable else QueryState.ERROR
        if self.activity is Activity.CATCHING_UP:
            return QueryState.CATCHING_UP
        if self.real_time and not self.arrived:
            return QueryState.CATCHING_UP
        if not (self.real_time or self.definition.by_interval) and (self.lag or 0) > near:
            return QueryState.CATCHING_UP
        return QueryState.RUNNING

    def info(self, outage: str | None, near: int) -> QueryInfo:
        """What SHOW QUERIES tells of it."""
        state = self.state(outage, near)
        plan = self.definition.plan
        mode = self.mode or plan.mode.mode
        reason = self.mode_reason or plan.mode.reason
        if self.run is not None and self.activity is Activity.CATCHING_UP:
            mode, reason = Mode.MICRO_BATCH, CATCHING_UP
        if state is QueryState.WAITING:
            reason = outage or self.error or reason
        elif self.to_stop and self.stops:
            reason = STOPPING
        return QueryInfo(
            self.id,
            "PERSISTENT",
            state,
            mode.value,
            reason,
            self.lag,
            self.definition.sql,
            self.definition.sink,
            self.error,
            plan.guarantee.value,
            asleep=self.asleep and state is QueryState.RUNNING,
        )


def on_standby(info: QueryInfo) -> QueryInfo:
    """The same query, as a server has it that leaves its running to another."""
    if info.state is QueryState.PAUSED:
        return info
    reason = "another server of the service runs it"
    standby = QueryState.STANDBY
    return replace(info, state=standby, reason=reason, lag=None, error=None, asleep=False)


def stuck(query_id: str) -> ExternalError:
    """The error where a query does not stop in time."""
    return ExternalError(
        f"query {query_id} does not stop",
        retryable=True,
        hint="Try again; if it stays so, restart the server.",
    )
