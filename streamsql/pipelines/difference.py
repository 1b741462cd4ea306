"""Compares desired and running objects, each with the class of its change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from streamsql import nodes
from streamsql.catalog import Database, ExternalSink, Source, Thing, View
from streamsql.parser import canonical, parse_one
from streamsql.pipelines.desired_state import Definition, DesiredState
from streamsql.pipelines.running import Running
from streamsql.planner.changes.classes import Change, ChangeClass, Difference
from streamsql.planner.changes.keeping import REWRITTEN, keeps_state
from streamsql.planner.changes.partitions import growth_obstacle
from streamsql.planner.changes.queries import compare_inserts, compare_queries
from streamsql.planner.changes.rebuilding import rebuild_obstacle
from streamsql.planner.changes.sources import as_known, compare_sources
from streamsql.planner.changes.users import users_of, users_of_columns
from streamsql.planner.operators import state_stores
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.processing_log import STREAM as PROCESSING_LOG
from streamsql.types import SQLType, to_sql

MATERIALIZED_VIEW = "MATERIALIZED VIEW"
"""The kind of an Item that is one."""


class Action(Enum):
    """Action for an object."""

    NONE = "unchanged"
    CREATE = "created"
    CHANGE = "changed"
    DROP = "dropped"
    KEEP = "not in the files"


@dataclass(frozen=True)
class Item:
    """A stream, table, view, type, function, source, sink or INSERT query, and its change."""

    thing: Thing
    kind: str
    """STREAM, TABLE, MATERIALIZED VIEW, VIEW, TYPE, FUNCTION, SOURCE, SINK or QUERY."""
    action: Action
    change: Change = field(default_factory=Change)
    reads: tuple[str, ...] = ()
    """Names of the sources it reads."""
    state: str = ""
    """Effect on its query's state."""
    definitions: tuple[Definition, ...] = ()
    query_id: str | None = None
    """Id of the running query."""
    obstacle: str | None = None
    """Why the query cannot be rebuilt for a change of class 3 or 4, or None."""
    read_again: tuple[str, ...] = ()
    """Topics that a rebuild reads again."""
    keeps: bool = False
    """Whether the state is migrated instead of rebuilt."""

    @property
    def meaning(self) -> str:
        return REWRITTEN if self.keeps else self.change.change.meaning

    @property
    def rebuilds(self) -> bool:
        """Whether the query gets a new checkpoint."""
        rebuilt = (ChangeClass.STATE, ChangeClass.REBUILD)
        can = self.keeps or not self.obstacle
        return self.action is Action.CHANGE and self.change.change in rebuilt and can

    @property
    def name(self) -> str:
        return self.thing[1]


def differences(desired: DesiredState, running: Running, *, prune: bool = False) -> list[Item]:
    """All desired objects in order of creation, then the remaining ones, which `prune` drops."""
    inserts = _Inserts(desired, running)
    items = []
    for thing, definitions in desired.definitions.items():
        kind, name = thing
        if kind == "source":
            items.append(_source(name, definitions, desired, running))
        elif kind == "query":
            items.append(inserts.item(thing, definitions))
        elif kind == "sink":
            items.append(_sink(thing, definitions, running))
        else:
            items.append(_other(thing, definitions, running))
    action = Action.DROP if prune else Action.KEEP
    items += _remaining(desired, running, inserts, action)
    return items


def _source(
    name: str, definitions: list[Definition], desired: DesiredState, running: Running
) -> Item:
    new, old = desired.catalog.sources[name], running.catalog.sources.get(name)
    planned = desired.queries.get(new.created_by_query or "")
    query = _query_of(planned)
    item = Item(
        ("source", name),
        _kind(new),
        Action.CREATE,
        reads=query.reads if query else (),
        definitions=tuple(definitions),
    )
    if old is None:
        return item
    if new is old:
        return replace(item, action=Action.NONE, query_id=old.created_by_query)
    before = running.queries.get(old.created_by_query or "")
    known = as_known(new, old, definitions[0].statement)
    by_query = _by_query(old, new, before.plan if before else None, query, running)
    users = users_of(old, running.catalog)
    concerned = users if planned else users_of_columns(old, known, running.catalog)
    in_the_way = growth_obstacle(old, running.catalog)
    by_columns = compare_sources(old, known, concerned, in_the_way)
    change = Change(tuple(by_query)).and_also(by_columns.differences)
    action = Action.CHANGE if change.differences else Action.NONE
    was = before.plan if before else None
    writers = running.catalog.writers(name)
    keeps = was is not None and query is not None and keeps_state(change, was.root, query.root)
    obstacle = rebuild_obstacle(old, change, was, query, users, writers)
    rebuilt = change.change in (ChangeClass.STATE, ChangeClass.REBUILD) and obstacle is None
    again = rebuilt and not keeps
    return replace(
        item,
        action=action,
        change=change,
        state="rewritten" if keeps else _state(was, change),
        query_id=old.created_by_query,
        obstacle=obstacle,
        read_again=desired.catalog.topics_of(query.reads) if again and query else (),
        keeps=keeps,
    )


def _kind(source: Source) -> str:
    return MATERIALIZED_VIEW if source.is_materialized_view else source.kind.value


def _by_query(
    old: Source,
    new: Source,
    before: QueryPlan | None,
    after: QueryPlan | None,
    running: Running,
) -> Iterator[Difference]:
    if (old.created_by_query is None) != (after is None):
        text = "now written by a query" if after else "no longer written by a query"
        effect = "DROP it and create it again: its topic is kept"
        yield Difference(ChangeClass.REFUSED, "AS SELECT", text, effect)
    elif after is not None and before is None:
        effect = "its query no longer exists, or its text can no longer be planned"
        yield Difference(ChangeClass.REBUILD, "AS SELECT", "the query is not running", effect)
    elif after is not None and before is not None:
        if not running.mode_known:
            before = replace(before, mode=after.mode, partitions=after.partitions)
        yield from compare_queries(before, after).differences


def _query_of(definition: Definition | None) -> QueryPlan | None:
    planned = definition.planned if definition else None
    return planned.query if isinstance(planned, QueryStatementPlan) else None


_STATE = {
    ChangeClass.NONE: "kept",
    ChangeClass.SETTINGS: "kept",
    ChangeClass.IN_PLACE: "kept",
    ChangeClass.STATE: "rebuilt",
    ChangeClass.REBUILD: "rebuilt",
    ChangeClass.REFUSED: "kept",
}


def _state(plan: QueryPlan | None, change: Change) -> str:
    if plan is None or not state_stores(plan.root):
        return ""
    return _STATE[change.change]


class _Inserts:
    """Identifies INSERT queries by QUERY_ID, by text, and otherwise by target and sources if these
    are unique."""

    def __init__(self, desired: DesiredState, running: Running) -> None:
        self._running = running
        made = {s.created_by_query for s in running.catalog.sources.values()}
        made |= {sink.query_id for sink in running.catalog.sinks.values()}
        self.left = [query_id for query_id in running.queries if query_id not in made]
        self._texts = {q: canonical(parse_one(running.queries[q].sql)) for q in self.left}
        self._matched: dict[Thing, str] = {}
        things = [thing for thing in desired.definitions if thing[0] == "query"]
        for match in (self._by_id, self._by_text, self._by_topics):
            for thing in things:
                if thing not in self._matched:
                    self._match(thing, match(thing, desired.definitions[thing][0]))

    def _match(self, thing: Thing, query_id: str | None) -> None:
        if query_id is not None:
            self._matched[thing] = query_id
            self.left.remove(query_id)

    def _by_id(self, thing: Thing, definition: Definition) -> str | None:
        named = any(p.name == "QUERY_ID" for p in vars(definition.statement)["properties"])
        return thing[1] if named and thing[1] in self.left else None

    def _by_text(self, thing: Thing, definition: Definition) -> str | None:
        text = canonical(definition.statement)
        return next((query_id for query_id in self.left if self._texts[query_id] == text), None)

    def _by_topics(self, thing: Thing, definition: Definition) -> str | None:
        query = _query_of(definition)
        links = self._running.catalog.queries
        target = vars(definition.statement)["target"]
        found = [
            query_id
            for query_id in self.left
            if query and links[query_id].writes == target and links[query_id].reads == query.reads
        ]
        return found[0] if len(found) == 1 else None

    def item(self, thing: Thing, definitions: list[Definition]) -> Item:
        (definition,) = definitions
        query = _query_of(definition)
        assert query is not None
        item = Item(
            thing, "QUERY", Action.CREATE, reads=query.reads, definitions=tuple(definitions)
        )
        query_id = self._matched.get(thing)
        if query_id is None:
            return item
        before = self._running.queries[query_id].plan
        item = replace(item, thing=("query", query_id), query_id=query_id)
        if before is None:
            return replace(item, action=Action.NONE)
        if not self._running.mode_known:
            before = replace(before, mode=query.mode)
        change = compare_inserts(_with_parts_of(query, before), query)
        action = Action.CHANGE if change.differences else Action.NONE
        obstacle = (
            "an INSERT INTO .. SELECT shares its target with other writers and cannot be rebuilt"
        )
        state = _state(before, change)
        return replace(item, action=action, change=change, state=state, obstacle=obstacle)


def _with_parts_of(query: QueryPlan, before: QueryPlan) -> QueryPlan:
    """Queries without rebuild keep the number of shuffle partitions of their state."""
    return replace(before, partitions=query.partitions)


_WRITTEN = "what it has written does not change"


def _sink(thing: Thing, definitions: list[Definition], running: Running) -> Item:
    query, there = _query_of(definitions[-1]), running.catalog.sinks.get(thing[1])
    if query is None:
        return _sink_of_all(thing, definitions, there)
    item = Item(thing, "SINK", Action.CREATE, reads=query.reads, definitions=tuple(definitions))
    if there is None:
        return item
    item = replace(item, query_id=there.query_id)
    before = running.queries.get(there.query_id)
    if before is None or before.plan is None:
        effect = "its text can no longer be planned"
        found = Difference(ChangeClass.REBUILD, "FROM", "the query is not running", effect)
        return replace(item, action=Action.CHANGE, change=Change((found,)), obstacle=_WRITTEN)
    change = compare_queries(_with_parts_of(query, before.plan), query)
    action = Action.CHANGE if change.differences else Action.NONE
    return replace(item, action=action, change=change, obstacle=_WRITTEN)


def _sink_of_all(thing: Thing, definitions: list[Definition], there: ExternalSink | None) -> Item:
    item = Item(thing, "SINK", Action.CREATE, definitions=tuple(definitions))
    if there is None:
        return item
    if not there.of_all:
        effect = "DROP SINK and create it again"
        found = Difference(ChangeClass.REFUSED, "FROM", f"{there.reads}, now ALL TABLES", effect)
        return replace(item, action=Action.CHANGE, change=Change((found,)), obstacle=_WRITTEN)
    was, now = canonical(parse_one(there.statement)), _said(definitions[-1].statement)
    if was == now:
        return replace(item, action=Action.NONE)
    effect = "its sinks continue from their checkpoints"
    found = Difference(ChangeClass.IN_PLACE, "WITH", f"{was}, now {now}", effect)
    return replace(item, action=Action.CHANGE, change=Change((found,)))


_KINDS = {"database": "SOURCE"}
"""What SQL calls an object, where that is not its kind in the catalog."""


def _other(thing: Thing, definitions: list[Definition], running: Running) -> Item:
    """Views, types, functions and sources: they have no query, but their readers do."""
    kind, name = thing
    there = running.catalog.things(kind).get(name)
    item = Item(
        thing, _KINDS.get(kind, kind.upper()), Action.CREATE, definitions=tuple(definitions)
    )
    if there is None:
        return item
    made = definitions[-1]
    was = _said(there)
    now = _said(vars(made.planned)["type"] if kind == "type" else made.statement)
    if was == now:
        return replace(item, action=Action.NONE)
    text, effect = f"{was}, now {now}", "queries that use it have changes of their own"
    if kind == "database":
        effect = "its connector cannot continue with another database or login"
        found = Difference(ChangeClass.REFUSED, item.kind, text, effect)
    else:
        found = Difference(ChangeClass.SETTINGS, item.kind, text, effect)
    return replace(item, action=Action.CHANGE, change=Change((found,)))


def _said(thing: object) -> str:
    match thing:
        case nodes.Statement():
            return canonical(thing)
        case View() | Database():
            return canonical(parse_one(thing.statement))
        case SQLType():
            return to_sql(thing)
    raise TypeError(f"no view, type, function or source: {thing}")


def _remaining(
    desired: DesiredState, running: Running, inserts: _Inserts, action: Action
) -> Iterator[Item]:
    """Objects that are not in the files, readers first."""
    for query_id in reversed(inserts.left):
        reads = running.catalog.queries[query_id].reads
        yield Item(("query", query_id), "QUERY", action, reads=reads, query_id=query_id)
    for name, sink in reversed(running.catalog.sinks.items()):
        # The parts of a sink of all tables end with it, or with their source.
        if not desired.has(("sink", name)) and not sink.part_of:
            yield Item(("sink", name), "SINK", action, reads=(sink.reads,), query_id=sink.query_id)
    for name, view in reversed(running.catalog.views.items()):
        if not desired.has(("view", name)):
            yield Item(("view", name), "VIEW", action, reads=tuple(sorted(view.reads)))
    for name, source in reversed(running.catalog.sources.items()):
        if not desired.has(("source", name)) and name != PROCESSING_LOG:
            made_by = source.created_by_query
            links = running.catalog.queries.get(made_by or "")
            reads = links.reads if links else ()
            yield Item(("source", name), _kind(source), action, reads=reads, query_id=made_by)
    for kind in ("database", "function", "type"):
        for name in running.catalog.things(kind):
            if not desired.has((kind, name)):
                yield Item((kind, name), _KINDS.get(kind, kind.upper()), action)
