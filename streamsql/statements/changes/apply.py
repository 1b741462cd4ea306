"""Applies files as one entry of the log.

All statements are planned and folded first, as in a replay. Then topics are created, which is
harmless on failure. Then the entry is logged, and the engine applies the result of the fold. After
a crash, the log contains either nothing or all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from streamsql.catalog import Source
from streamsql.errors import InternalError, UnsupportedError
from streamsql.executor.queries.definition import Definition, stuck
from streamsql.executor.rebuilds.rewriting import StateNotKeptError
from streamsql.log.entries import Entry, Offsets
from streamsql.nodes import Statement
from streamsql.parser import to_sql
from streamsql.pipelines.desired_state import DesiredState, read_desired
from streamsql.pipelines.difference import Action, Item, differences
from streamsql.pipelines.steps import Step, steps_of
from streamsql.planner import permissions
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.operators import Scan, operators
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SourcePlan
from streamsql.planner.statements import apply, plan
from streamsql.results import Message, Result, Warning
from streamsql.run_script import NamedText
from streamsql.runtime.replay import Replay, check_not_deleted
from streamsql.runtime.restore import replay_of
from streamsql.runtime.state import Context, EngineState
from streamsql.statements.captures import check_captures
from streamsql.statements.changes.planned_changes import (
    PlannedChange,
    declared_topics,
    facts_of,
    grow,
    made_topic,
    make,
)
from streamsql.statements.changes.rebuilding import Rebuilds, await_settled
from streamsql.statements.changes.running import running_of_replay
from streamsql.statements.control import OLD_RUNS, still_running
from streamsql.status import QueryState
from streamsql.version import VERSION
from streamsql.waiting import await_condition

TURNS_SECONDS = 4.0
"""How long changed queries are replaced one after the other; the rest is replaced at once."""
NOTHING = "No changes. The running pipeline matches the files."


@dataclass(frozen=True)
class Files:
    """Pipeline files. `read` returns the texts; `prune` drops objects that are not in them;
    `partial` takes objects that they read but do not define from the running pipeline."""

    read: Callable[[], Sequence[NamedText]]
    prune: bool = False
    partial: bool = False


def apply_files(files: Files, context: Context, rebuilds: Rebuilds) -> list[Result]:
    """Applies files; returns a message per change. Raises a StreamSQLError before changing
    anything."""

    def prepare() -> Work | None:
        work = prepared(files, context, rebuilds)
        # Where queries are rebuilt, topics grow once the old ones have stopped.
        return work if work is None or work.rebuilt else _ready(work, context)

    def carry(work: Work | None) -> tuple[Work | None, list[Warning] | None]:
        """Returns None instead of warnings if queries must be rebuilt first."""
        if work is None or not rebuilds.are_ready(work.rebuilt, work.kept):
            return work, None
        work = _numbered(work, context)
        return work, _carried_out(work, rebuilds, context)

    while True:
        try:
            work, warnings = context.carry_out(prepare, carry)
        except StateNotKeptError as error:
            rebuilds.give_up(error)
            continue
        if work is None:
            return [Message(NOTHING)]
        if warnings is not None:
            break
        # Planning takes concurrent changes into account.
        rebuilds.build(work.rebuilt, work.kept)
    if work.rebuilt:
        warnings += [*rebuilds.not_kept(), *await_settled(context.state, work.rebuilt)]
    said = [warning for change in work.changes for warning in change.warnings]
    return [*_summary(work.items, rebuilds.has_kept), *said, *warnings]


def prepared(files: Files, context: Context, rebuilds: Rebuilds) -> Work | None:
    """The planned work, with its topics created, which is harmless on failure; None without
    changes. Accesses Kafka and registries without the state's lock."""
    with context.state.lock:
        before, sequence = replay_of(context.state), context.state.log.next_sequence
    work = _work(files, context, rebuilds, before, sequence)
    for change in work.changes if work else ():
        make(change, context)
    return work


@dataclass(frozen=True)
class Work:
    """The work of an apply."""

    items: Sequence[Item]
    changes: Sequence[PlannedChange]
    entry: Entry
    before: Replay
    after: Replay
    kept: frozenset[str] = frozenset()
    """Ids of queries in `rebuilt` whose state is migrated instead of rebuilt."""
    grown: Sequence[Source] = ()
    """Sinks of queries whose topics got more partitions."""

    @property
    def statements(self) -> list[Statement]:
        return [change.step.statement for change in self.changes]

    @property
    def rebuilt(self) -> list[Definition]:
        """Queries with a new checkpoint."""
        ids = [change.query_id for change in self.changes if change.step.rebuilds]
        return [self.after.queries[query_id].definition for query_id in ids if query_id]

    @property
    def going_on(self) -> list[Definition]:
        """Queries that resume from their checkpoints with a new definition."""
        was, rebuilt = self.before.queries, {query.id for query in self.rebuilt}
        return [
            now.definition
            for query_id, now in self.after.queries.items()
            if query_id in was.keys() - rebuilt
            and was[query_id].definition is not now.definition
            and not now.paused
        ]


def _work(
    files: Files, context: Context, rebuilds: Rebuilds, before: Replay, sequence: int
) -> Work | None:
    session = context.session
    running, schemas = running_of_replay(before), context.state.schemas()
    desired = read_desired(files.read(), session, schemas, running, partial=files.partial)
    if desired.errors:
        raise desired.errors[0]
    items = differences(desired, running, prune=files.prune)
    steps = steps_of(items, before.catalog, session.properties)
    if not steps:
        return None
    for step in steps:
        permissions.check(step.statement, session)
    changes = _planned(steps, before, context)
    entry = _entry(changes, sequence, context)
    _check_outcome(desired, _folded(entry, before), files.prune)
    entry = _with_offsets(entry, changes, before, context, rebuilds)
    kept = frozenset(d.query_id or "" for d in changes if rebuilds.keeps(d.step, d.query_id))
    return Work(items, changes, entry, before, _folded(entry, before), kept)


def _numbered(work: Work, context: Context) -> Work:
    """The work with the next number of the log: rows and properties may have been logged since it
    was prepared."""
    sequence = context.state.log.next_sequence
    if sequence == work.entry.sequence:
        return work
    parts = tuple(replace(part, sequence=sequence) for part in work.entry.parts)
    entry = replace(work.entry, sequence=sequence, parts=parts)
    before = replay_of(context.state)
    return replace(work, entry=entry, before=before, after=_folded(entry, before))


def _ready(work: Work, context: Context) -> Work:
    """The work after all access to Kafka and Spark that precedes the lock."""
    for query in work.going_on:
        context.state.launcher.make_ready(query)
    return replace(work, grown=_grown(work, context))


def _grown(work: Work, context: Context) -> list[Source]:
    """Adds the partitions that sinks declare, which is harmless on failure: the running queries use
    them."""
    return [sink for change in work.changes if (sink := grow(change, context)) is not None]


def _carried_out(work: Work, rebuilds: Rebuilds, context: Context) -> list[Warning]:
    """Logs the entry and applies it."""
    for change in work.changes:
        check_not_deleted(change.planned, context.state.deleting)
    _check_stopped(work, context)
    if not work.rebuilt:
        context.state.log.append(work.entry)
        return _become(work, work.grown, context)
    for query in work.going_on:
        context.state.launcher.make_ready(query)
    with rebuilds.switching(work.rebuilt, work.entry.sequence):
        grown = _grown(work, context)
        context.state.log.append(work.entry)
        rebuilds.logged(work.rebuilt)
        return _become(work, grown, context)


def _check_stopped(work: Work, context: Context) -> None:
    """Raises ExternalError if the id of a new query belongs to a terminated query that still
    runs."""
    stopping = context.state.queries.known().keys() - work.before.queries.keys()
    for change in work.changes:
        if (query_id := change.query_id) in stopping and query_id is not None:
            raise stuck(query_id)


def _planned(steps: Sequence[Step], before: Replay, context: Context) -> list[PlannedChange]:
    catalog, changes = before.catalog.copy(), []
    declared = declared_topics(steps)
    made: dict[str, tuple[int, int]] = {}
    for step in steps:
        # A statement without its own topic settings uses the topic of another one, unless it
        # captures a table.
        said = any(p.name == "PARTITIONS" for p in getattr(step.statement, "properties", ()))
        said = said or getattr(step.statement, "captures", False)
        topics = context.state.topics(made if said else {**declared, **made})
        schemas = context.state.schemas()
        planned = plan(
            step.statement,
            catalog,
            step.properties,
            topics,
            query_id=step.replaces,
            schemas=schemas,
            rebuilds=step.rebuilds,
            replaces=step.replaces is not None,
        )
        permissions.check_plan(step.statement, planned, context.session)
        if isinstance(planned, SourcePlan) and not planned.replaces:
            check_captures(planned.source, context.state)
        apply(planned, catalog)
        if (topic := made_topic(planned)) is not None:
            made[topic.name] = facts_of(topic)
        changes.append(PlannedChange(step, planned, topics, schemas))
    return changes


def _entry(changes: Sequence[PlannedChange], sequence: int, context: Context) -> Entry:
    """The log entry, without the start offsets of new queries."""
    parts = [
        Entry(
            sequence,
            to_sql(change.step.statement) + ";",
            context.logged(change.step.properties),
            change.query_id,
            change.topic_facts,
            None,
            VERSION,
            change.schemas.to_json(),
            rebuilds=change.step.rebuilds,
            replaces=change.step.replaces is not None,
        )
        for change in changes
    ]
    sql = "\n".join(part.sql for part in parts)
    return Entry(sequence, sql, version=VERSION, parts=tuple(parts))


def _folded(entry: Entry, before: Replay) -> Replay:
    replay = before.copy()
    for statement in entry.statements:
        replay.add(statement)
    return replay


def _with_offsets(
    entry: Entry,
    changes: Sequence[PlannedChange],
    before: Replay,
    context: Context,
    rebuilds: Rebuilds,
) -> Entry:
    parts = (
        replace(part, offsets=_offsets(change, context, before, rebuilds))
        for part, change in zip(entry.parts, changes, strict=True)
    )
    return replace(entry, parts=tuple(parts))


def _offsets(
    change: PlannedChange, context: Context, before: Replay, rebuilds: Rebuilds
) -> Offsets | None:
    """Start offsets of a query; a replacement starts where the old query started."""
    planned = change.planned
    if not isinstance(planned, QueryStatementPlan) or change.query_id is None:
        return None
    known, plan, given = before.queries.get(change.query_id), planned.query, change.step.properties
    scans = (scan for scan in operators(plan.root) if isinstance(scan, Scan))
    topics = tuple(dict.fromkeys(scan.source.topic.name for scan in scans))
    if planned.replaces and known is not None:
        if change.step.rebuilds:
            keeps = rebuilds.keeps(change.step, change.query_id)
            return rebuilds.starting_offsets(known, plan, topics, given, keeps=keeps)
        return known.definition.starting_offsets
    return context.state.launcher.starting_offsets(topics, plan.starts, given)


def _check_outcome(desired: DesiredState, after: Replay, prune: bool) -> None:
    """Raises UnsupportedError if the statements do not produce the desired catalog."""
    left = differences(desired, running_of_replay(after), prune=prune)
    for item in left:
        if item.action in (Action.NONE, Action.KEEP):
            continue
        if item.action is Action.CHANGE:
            first = item.change.differences[0]
            raise UnsupportedError(
                f"cannot apply the change of {item.kind} {item.name}: {first.clause}: {first.text}",
                hint="Nothing has been changed. Use one CREATE statement for the definition.",
            )
        raise InternalError(f"{item.kind} {item.name} would still require: {item.action.value}")


def _become(work: Work, grown: Sequence[Source], context: Context) -> list[Warning]:
    """Applies the result of the fold; returns warnings about queries that do not stop. Readers of a
    topic that has `grown` restart with all of its partitions."""
    state, before, after = context.state, work.before, work.after
    state.deletions, state.catalog = after.deletions, after.catalog
    ended = [query_id for change in work.changes for query_id in _ended(change.planned)]
    still = state.queries.terminate(*ended) if ended else []
    warnings = still_running(still)
    replaced = []
    for query_id, now in after.queries.items():
        was = before.queries.get(query_id)
        if query_id in still:
            warnings.append(
                Warning(f"The new query {query_id} starts with the next start of the engine.")
            )
        elif was is None or query_id in ended:
            state.queries.add(now.definition)
        elif was.definition is not now.definition:
            replaced.append(now.definition)
    readers = {r for sink in grown for r in after.catalog.readers_of_topic(sink.topic.name)}
    again = readers - {query.id for query in replaced}
    replaced += [after.queries[query_id].definition for query_id in sorted(again)]
    return [*warnings, *_replaced(replaced, state)]


def _replaced(queries: Sequence[Definition], state: EngineState) -> list[Warning]:
    """Replaces the queries; returns warnings about those that do not stop. Each one stops after the
    previous one runs again, within a time limit, because queries that start together each take
    longer."""
    warnings = []
    deadline = time.monotonic() + TURNS_SECONDS
    for query in queries:
        ran = _runs(query.id, state)
        if not state.queries.replace(query):
            warnings.append(Warning(OLD_RUNS.format(query.id)))
        elif ran and query is not queries[-1]:
            left = max(0.0, deadline - time.monotonic())
            await_condition(partial(_runs, query.id, state), left)
    return warnings


def _runs(query_id: str, state: EngineState) -> bool:
    return any(i.id == query_id and i.state is QueryState.RUNNING for i in state.queries.infos())


def _ended(planned: Planned) -> Sequence[str]:
    match planned:
        case DropPlan(terminate=query_ids):
            return query_ids
        case ControlPlan(query_ids=query_ids):
            return query_ids
    return ()


def _summary(items: Sequence[Item], has_kept: Callable[[str | None], bool]) -> list[Result]:
    """A message per changed object; `has_kept`: whether the planned migration of a query's state
    succeeded."""
    done = (item for item in items if item.action not in (Action.NONE, Action.KEEP))
    return [_message(item, has_kept(item.query_id)) for item in done]


def _message(item: Item, kept: bool) -> Result:
    how = ""
    if item.action is Action.CHANGE:
        change = item.change.change
        how = f" (class {change.value}, {item.meaning if kept else change.meaning})"
    name = item.query_id if item.kind == "QUERY" and item.query_id else item.name
    return Message(f"{item.kind.capitalize()} {name} {item.action.value}{how}", item.query_id)
