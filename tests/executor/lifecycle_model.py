"""Queries, the effects in progress, and a Spark and a Kafka that do whatever they may: a model of
everything that `lifecycle.step` meets, with the invariants that must hold throughout.

`python -m tests.executor.lifecycle_model 1000000` takes that many random steps.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsql.executor.queries import admission, crash_isolation, events, lifecycle, workers
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.events import Discard, Effect, Event, Forget, Release, Start, Stop
from streamsql.executor.queries.lifecycle import Change
from streamsql.executor.queries.phases import (
    CatchingUp,
    Deferred,
    Held,
    Live,
    Paused,
    Removed,
    Starting,
    Stopping,
    Suspended,
)
from streamsql.executor.queries.query import Query
from streamsql.executor.queries.spark_run import Failure
from streamsql.executor.spark import capacity
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode
from tests.executor.definitions import definition

NAMES = ("A", "B", "C", "D", "E", "F")
DIED = Failure("Spark does not answer", True, died=True)
EXHAUSTED = Failure("too large for the engine's memory", False, exhausting=True)
ODD = Failure("division of sheep", False)
AWAY = Failure("Kafka is away", True)


class InvariantViolated(AssertionError):
    """By name."""


class ModelRun:
    """A run in the model's Spark."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.alive = True
        self.finished = False
        self.error: Failure | None = None

    def active(self) -> bool:
        return self.alive

    def failure(self) -> Failure | None:
        return self.error

    def positions(self) -> Positions | None:
        return None

    def finish(self) -> bool:
        return True

    def stop(self) -> bool:
        return not self.alive


@dataclass
class Job:
    """An effect that is due, or that a thread executes since `began`."""

    query: Query
    effect: Effect
    began: float = math.inf


@dataclass(frozen=True)
class Entry:
    """A statement in the log that a follower reads."""

    request: Event
    query_ids: tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """The rules of the product; a test replaces one by a faulty one."""

    step: Callable[[Query, Event, float], Change] = lifecycle.step
    crashed: Callable[..., Mapping[str, events.JvmDied]] = crash_isolation.crashed
    may_start: Callable[..., bool] = admission.may_start
    needs_thread: Callable[[int, Collection[float], float], bool] = workers.needs_thread
    grown: Callable[[float, float], float] = capacity.grown
    asks_all: bool = True
    """Whether a request of several queries reaches all before any is waited for."""
    retries_entries: bool = True
    """Whether a follower reads an entry again that has not taken effect."""
    releases: bool = True
    """Whether a rebuild that fails lets others begin."""


@dataclass
class Fleet:
    """The queries of one engine. Actions are named by ACTIONS; `a` and `b` choose among what an
    action may be about, and how it comes out."""

    rules: Rules = field(default_factory=Rules)
    now: float = 1000.0
    queries: dict[str, Query] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    threads: list[float] = field(default_factory=list)
    runs: list[ModelRun] = field(default_factory=list)
    last: dict[str, ModelRun] = field(default_factory=dict)
    """By query its last run."""
    generations: dict[str, int] = field(default_factory=dict)
    """By query the generation that its checkpoint is of."""
    divisors: dict[str, tuple[float, float]] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    applied: int = 0
    rebuilding: str | None = None
    outage: bool = False
    standby: bool = False
    versions: int = 0
    steps: int = 0
    taken: set[tuple[type, type, type]] = field(default_factory=set)
    """Phases, events and the phases after them."""

    # -- the mailbox, as the manager has it ------------------------------------------------------

    def post(self, query_id: str, event: Event) -> None:
        before = self.queries.get(query_id)
        if before is None:
            return
        self.steps += 1
        after, effects = self.rules.step(before, event, self.now)
        self.taken.add((type(before.phase), type(event), type(after.phase)))
        if isinstance(after.phase, Removed):
            del self.queries[query_id]
        else:
            self.queries[query_id] = after
        for effect in effects:
            self._due(after, effect)
        self._check_query(before, after)

    def _due(self, query: Query, effect: Effect) -> None:
        if isinstance(effect, Forget):
            self.divisors.pop(query.id, None)
            return
        check(
            "a query has one effect in progress",
            not any(job.query.id == query.id for job in self.jobs),
        )
        if isinstance(effect, Start):
            goal = query.goal
            check("a query that is to stop is not started", not (goal.to_stop or goal.suspended))
            check("a held query starts only after RESUME", not query.failures.held)
            check("nothing starts during an outage", not self.outage)
        if isinstance(effect, Stop) and effect.finishes:
            check("a follower commits no batch", not query.goal.standby)
        job = Job(query, effect)
        if isinstance(effect, Start):
            self.jobs.append(job)
        else:
            self.jobs.insert(0, job)
        self._assign()

    def _assign(self) -> None:
        """Threads take what is due."""
        due = [job for job in self.jobs if job.began == math.inf]
        for number, job in enumerate(due):
            if self.rules.needs_thread(len(due) - number, self.threads, self.now):
                self.threads.append(math.inf)
            if math.inf not in self.threads:
                return
            self.threads[self.threads.index(math.inf)] = job.began = self.now

    def _done(self, job: Job) -> None:
        self.jobs.remove(job)
        self.threads.remove(job.began)
        if len(self.threads) - workers.count_stuck(self.threads, self.now) < workers.WORKERS:
            self.threads.append(math.inf)

    def tick(self) -> None:
        for query in list(self.queries.values()):
            if isinstance(query.phase, Stopping):
                self.post(query.id, events.Tick())
        for query_id in () if self.outage else list(self.queries):
            others = list(self.queries.values())
            if self.rules.may_start(self.queries[query_id], others, self.now, by_itself=True):
                self.post(query_id, events.StartDue())
        self._assign()

    def ask(self, query_ids: Iterable[str], event: Event) -> bool:
        """Whether it has taken effect in all of them."""
        names = [query_id for query_id in query_ids if query_id in self.queries]
        for query_id in names:
            self.post(query_id, event)
            if not self.rules.asks_all and self._pending(query_id):
                return False
        return not any(self._pending(query_id) for query_id in names)

    def _pending(self, query_id: str) -> bool:
        return query_id in self.queries and self.queries[query_id].pending

    # -- what statements do ----------------------------------------------------------------------

    def add(self, a: int, b: int) -> None:
        name = NAMES[a % len(NAMES)]
        if name in self.queries:
            return
        made = self._version(name)
        self.generations[name] = made.generation
        restored = b % 3 == 0
        self.queries[name] = lifecycle.added(made, restored=restored, standby=self.standby)

    def _version(self, name: str, generation: int | None = None) -> Definition:
        self.versions += 1
        return replace(
            definition(query_id=name),
            sql=f"version {self.versions}",
            generation=self.versions if generation is None else generation,
        )

    def _some(self, a: int) -> str | None:
        names = list(self.queries)
        return names[a % len(names)] if names else None

    def request(self, a: int, b: int) -> None:
        if (name := self._some(a)) is None:
            return
        match b % 6:
            case 0:
                self.ask([name], events.PauseRequested())
            case 1:
                accepts = ("some.loss",) if a % 2 else ()
                self.ask([name], events.ResumeRequested(accepts))
            case 2:
                made = self._version(name, self.queries[name].meant.generation)
                self.ask([name], events.ReplaceRequested(made))
            case 3:
                self.ask([name], events.StopRequested(keep_checkpoint=a % 4 == 0))
            case 4:
                self.ask([name], events.DrainRequested())
            case 5:
                self.ask([name], events.DrainCancelled())

    def pause_all(self, _a: int, b: int) -> None:
        """And resumes more often than that."""
        if b % 4:
            paused = [query.id for query in self.queries.values() if query.goal.paused]
            self.ask(paused, events.ResumeRequested())
            return
        self.ask(list(self.queries), events.PauseRequested())
        missed = [q.id for q in self.queries.values() if not (q.goal.paused or q.goal.removed)]
        check("PAUSE ALL reaches every query", not missed)

    def lead(self, _a: int, b: int) -> None:
        if self.standby or b % 8 == 0:
            self.standby = not self.standby
            event = events.LeadershipChanged(leads=not self.standby)
            self.ask(list(self.queries), event)

    def append_entry(self, a: int, b: int) -> None:
        names = tuple(self.queries)
        request = (events.PauseRequested(), events.ResumeRequested())[b % 2]
        if names and len(self.log) - self.applied < 3:
            self.log.append(Entry(request, names if a % 2 else names[:1]))

    def follow(self, _a: int, _b: int) -> None:
        """A follower applies the next entry; where a query does not stop, it tries again."""
        if self.applied == len(self.log):
            return
        entry = self.log[self.applied]
        done = self.ask(entry.query_ids, entry.request)
        if done or not self.rules.retries_entries:
            self.applied += 1
            pending = [name for name in entry.query_ids if self._pending(name)]
            check("a follower passes an entry once it has taken effect", not pending)

    def rebuild(self, a: int, b: int) -> None:
        """One step of a blue/green rebuild: begin; hand over once the old run has ended; fail."""
        if self.rebuilding is None:
            self.rebuilding = self._some(a)
            if self.rebuilding is not None:
                self.ask([self.rebuilding], events.PauseRequested())
            return
        name = self.rebuilding
        query = self.queries.get(name)
        if b % 4 == 0 or query is None:
            self.rebuilding = None if self.rules.releases else name
            self.ask([name], events.ResumeRequested())
        elif isinstance(query.phase, Paused):
            self.rebuilding = None
            made = self._version(name)
            check("a checkpoint is handed over once its run has ended", not self._alive(name))
            self.generations[name] = made.generation
            self.ask([name], events.ReplaceRequested(made))
            self.ask([name], events.ResumeRequested())

    # -- what Spark, Kafka and time do -----------------------------------------------------------

    def advance(self, a: int, _b: int) -> None:
        self.now += (0.1, 1.0, 5.0, 16.0, 31.0, 90.0)[a % 6]
        self.tick()
        waiting = any(job.began == math.inf for job in self.jobs)
        hangs = workers.count_stuck(self.threads, self.now) == len(self.threads)
        check("calls that hang hold up no other query", not (waiting and hangs))

    def finish(self, a: int, b: int) -> None:
        """A worker's call returns."""
        working = [job for job in self.jobs if job.began < math.inf]
        if working:
            self._finish(working[a % len(working)], b)
            self.tick()

    def _finish(self, job: Job, b: int) -> None:
        query, effect = job.query, job.effect
        self._done(job)
        match effect:
            case Start():
                self.post(query.id, self._start(query, b))
            case Stop(run=run):
                self.post(query.id, self._stop(effect, run, b))
            case Release(run=run, failure=failure):
                if failure is not None and failure.exhausting:
                    divisor = self.divisor(query.id) * capacity.SHRINKS
                    self.divisors[query.id] = divisor, self.now
                self.post(query.id, events.RunStopped(run))
            case Discard():
                check("state is deleted only after the run has ended", not self._alive(query.id))
                check("a follower deletes no state", not query.goal.standby)
                check("only a terminated query loses its state", query.goal.removed)
                self.post(query.id, events.CheckpointDiscarded())

    def _start(self, query: Query, b: int) -> Event:
        if b % 4 == 0:
            return events.StartFailed((ODD, AWAY)[b // 4 % 2], outage=self.outage)
        if query.defers(0, full=b % 8 == 5) and b % 4 == 1:
            return events.Started(Deferred(self.now), {}, 0)
        check("never two runs of one checkpoint", not self._alive(query.id))
        of = self.generations[query.id]
        check("a successor starts only after the hand-over", query.definition.generation == of)
        run = ModelRun(query.to_run)
        self.runs = [*(each for each in self.runs if each.alive), run]
        self.last[query.id] = run
        if query.goal.drain or b % 4 == 1:
            return events.Started(CatchingUp(run, self.now, {}, drains=query.goal.drain), {}, 9)
        mode = Mode.MICRO_BATCH if b % 4 == 2 else Mode.REAL_TIME
        return events.Started(Live(run, self.now, {}), {}, 0, mode, None)

    def _stop(self, effect: Stop, run: object, b: int) -> Event:
        assert isinstance(run, ModelRun)
        run.finished = run.finished or (effect.finishes and b % 2 == 0)
        if run.alive and b % 4 == 3:
            return events.StopTimedOut(run, run.finished)
        run.alive = False
        return events.RunStopped(run, run.finished)

    def run_ends(self, a: int, b: int) -> None:
        alive = [run for run in self.runs if run.alive]
        if alive:
            run = alive[a % len(alive)]
            run.alive = False
            run.error = (None, ODD, AWAY, EXHAUSTED)[b % 4]

    def memory_is_short(self, _a: int, _b: int) -> None:
        """For one query, always the same."""
        query = self.queries.get(NAMES[0])
        if query is None or not isinstance(query.phase, CatchingUp | Live):
            return
        run = query.run
        assert isinstance(run, ModelRun)
        if run.alive:
            run.alive, run.error = False, EXHAUSTED
        self._ended(query, run, was_killed=False)

    def jvm_dies(self, _a: int, b: int) -> None:
        """And is noticed by one query after the other."""
        for run in self.runs:
            if run.alive:
                run.alive, run.error = False, DIED
        self._look_all(was_killed=b % 3 == 0)

    def look(self, a: int, b: int) -> None:
        """A health check of one query."""
        if (name := self._some(a)) is None:
            return
        query = self.queries[name]
        run = query.run
        if isinstance(query.phase, CatchingUp | Live):
            assert isinstance(run, ModelRun)
            if not run.alive:
                self._ended(query, run, was_killed=False)
                return
            if b % 8 == 0 and isinstance(query.phase, Live):
                self.post(name, events.RestartDue(run, "others need its slots" if a % 2 else None))
                return
        asleep = run is not None and b % 3 == 0
        seen = replace(query.health, asleep=asleep, lag=0 if asleep else b, positions={})
        self.post(name, events.Observed(run, seen))

    def late(self, _a: int, b: int) -> None:
        """An event of a run that is over arrives."""
        run = ModelRun(definition(query_id="A"))
        for name in list(self.queries):
            late = (
                events.RunStopped(run),
                events.CaughtUp(run, None),
                events.RunFailed(run, ODD),
                events.RestartDue(run),
            )[b % 4]
            before = self.queries[name]
            self.post(name, late)
            check("an event of another run changes nothing", self.queries.get(name) is before)

    def _look_all(self, *, was_killed: bool) -> None:
        for query in list(self.queries.values()):
            run = query.run
            if isinstance(run, ModelRun) and not run.alive:
                if isinstance(query.phase, CatchingUp | Live):
                    self._ended(self.queries[query.id], run, was_killed=was_killed)

    def _ended(self, query: Query, run: ModelRun, *, was_killed: bool) -> None:
        if run.error is None:
            self.post(query.id, events.CaughtUp(run, None))
            return
        if run.error.died and not crash_isolation.is_counted(query):
            before = dict(self.queries)
            counted = self.rules.crashed(list(before.values()), self.now, was_killed=was_killed)
            for query_id, each in counted.items():
                self.post(query_id, each)
            self._check_suspects(before, was_killed)
        self.post(query.id, events.RunFailed(run, run.error, outage=self.outage))

    def kafka(self, _a: int, b: int) -> None:
        self.outage = b % 4 == 0

    # -- invariants ------------------------------------------------------------------------------

    def divisor(self, query_id: str) -> float:
        divisor, since = self.divisors.get(query_id, (1.0, self.now))
        return self.rules.grown(divisor, self.now - since)

    def _alive(self, query_id: str) -> bool:
        return any(run.alive and run.definition.id == query_id for run in self.runs)

    def _check_query(self, before: Query, after: Query) -> None:
        if not after.busy and after.run is None:
            check("a stop that timed out is not taken for a stop", not self._alive(after.id))
        if after.definition is not before.definition:
            check("a successor waits for the end of the run", not self._alive(after.id))
        if isinstance(after.phase, CatchingUp | Live | Stopping):
            check("a run is not forgotten", after.run is not None)
        if after.finished and not before.finished and isinstance(before.phase, Stopping):
            committed = self.last[after.id].finished
            check("a query is finished only if its run has committed all", committed)
        if isinstance(before.phase, Held) and not after.failures.held:
            check("a held query starts only after RESUME", not isinstance(after.phase, Starting))

    def _check_suspects(self, before: Mapping[str, Query], was_killed: bool) -> None:
        crashes = {name: query.failures.crashes for name, query in before.items()}
        counted = {name for name in before if self.queries[name].failures.crashes > crashes[name]}
        active = {
            name
            for name, query in before.items()
            if isinstance(query.run, ModelRun)
            and not crash_isolation.is_counted(query)
            and not query.health.asleep
        }
        if was_killed:
            check("a JVM that was killed makes no query a suspect", not counted)
        elif all(crashes[name] < crash_isolation.SUSPECT for name in active):
            check("an unknown cause of death suspects all active queries", counted == active)
        else:
            check(
                "some active query is a suspect", counted <= active and bool(counted or not active)
            )

    def settle(self) -> None:
        """Once Spark and Kafka do what they should, everything asked for takes effect."""
        self.outage = False
        if self.rebuilding is not None:
            self.rebuild(0, 0)
        for _ in range(60):
            while any(job.began < math.inf for job in self.jobs):
                self._finish(next(job for job in self.jobs if job.began < math.inf), 2)
            self._look_all(was_killed=True)
            for query in list(self.queries.values()):
                if isinstance(query.phase, CatchingUp):
                    run = query.run
                    assert isinstance(run, ModelRun)
                    run.alive = False
                    self.post(query.id, events.CaughtUp(run, None))
            self.follow(0, 0)
            self.now += 31.0
            self.tick()
            done = not self.jobs and self.applied == len(self.log)
            if done and all(map(_is_settled, self.queries.values())):
                break
        else:
            restless = [query.phase for query in self.queries.values() if not _is_settled(query)]
            check(f"every request takes effect: {restless}, {self.jobs}", False)
        check("a rebuild that has failed lets others begin", self.rebuilding is None)
        self.now += 24 * 3600
        shrunk = [name for name in self.divisors if self.divisor(name) > 1.0]
        check("a day after a lack of memory batches have their size again", not shrunk)


def check(invariant: str, holds: bool) -> None:
    if not holds:
        raise InvariantViolated(invariant)


def _is_settled(query: Query) -> bool:
    goal = query.goal
    if goal.removed or goal.successor is not None:
        return False
    if goal.paused:
        return isinstance(query.phase, Paused)
    if goal.suspended:
        return isinstance(query.phase, Suspended)
    if query.failures.held:
        return isinstance(query.phase, Held)
    return isinstance(query.phase, Deferred | Live) and not goal.drain


ACTIONS: tuple[Callable[[Fleet, int, int], None], ...] = (
    Fleet.add,
    Fleet.add,
    Fleet.request,
    Fleet.request,
    Fleet.pause_all,
    Fleet.lead,
    Fleet.append_entry,
    Fleet.follow,
    Fleet.rebuild,
    Fleet.rebuild,
    *[Fleet.advance] * 3,
    *[Fleet.finish] * 12,
    Fleet.run_ends,
    Fleet.run_ends,
    Fleet.memory_is_short,
    Fleet.memory_is_short,
    Fleet.jvm_dies,
    *[Fleet.look] * 6,
    Fleet.late,
    Fleet.kafka,
)


def walk(steps: int, seed: int, rules: Rules | None = None) -> Fleet:
    """Take at least that many random steps, with a new fleet each thousand actions; the last one,
    with the steps and transitions of all."""
    source = random.Random(seed)
    fleet = Fleet(rules or Rules())
    while fleet.steps < steps:
        fleet = Fleet(rules or Rules(), steps=fleet.steps, taken=fleet.taken)
        for _ in range(1000):
            action, chosen = source.choice(ACTIONS), source.getrandbits(16)
            action(fleet, chosen & 255, chosen >> 8)
        if source.random() < 0.5:
            fleet.ask(list(fleet.queries), events.EngineClosing())
        fleet.settle()
    return fleet


def main(steps: int) -> None:
    began = time.monotonic()
    fleet = walk(steps, seed=1)
    print(f"{fleet.steps:,} steps in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]))
