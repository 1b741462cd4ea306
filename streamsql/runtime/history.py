"""What the statement log says of each thing: which statements have made it what it is.

A thing is a stream or table (with the query that fills it), a view, a type, a function, an INSERT
query, whether a query runs, or a row that INSERT .. VALUES has written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamsql import nodes
from streamsql.catalog import Catalog, Thing
from streamsql.executor.queries.persistent_query import Definition
from streamsql.log.entries import Entry
from streamsql.nodes import QueryAction, Statement
from streamsql.parser import parse_one, to_sql
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.plans.statements import Planned, QueryStatementPlan
from streamsql.runtime.processing_log import declare
from streamsql.runtime.replay import Replay

_CONDITIONS = ("or_replace", "if_not_exists", "if_exists")


def canonical(statement: Statement) -> str:
    """The text by which statements are compared: what they define, however they are laid out, in
    whatever order the properties stand, and whatever they say of a thing that is there already."""
    changes: dict[str, object] = {n: False for n in _CONDITIONS if hasattr(statement, n)}
    properties: nodes.Properties = getattr(statement, "properties", ())
    if properties:
        changes["properties"] = tuple(sorted(properties, key=lambda p: p.name))
    return to_sql(replace(statement, **changes))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Event:
    """A statement that concerned a thing, by its canonical text."""

    text: str
    entry: Entry


@dataclass
class History:
    """All that a statement log tells. It is told entry by entry, while the log is folded."""

    length: int = 0
    """How many entries it has been told."""

    _events: dict[Thing, list[Event]] = field(default_factory=lambda: defaultdict(list))
    born: dict[Thing, int] = field(default_factory=dict)
    """Of things that are there: the number of the event that made them."""
    queries: dict[Thing, Definition] = field(default_factory=dict)
    """Of INSERT queries that are there."""
    _owners: dict[str, Thing] = field(default_factory=dict)
    """By the ids of queries: the thing that they belong to."""
    _concerned: dict[str, set[Thing]] = field(default_factory=lambda: defaultdict(set))
    """By the texts of statements: all that they have concerned."""
    _rows: dict[str, set[Thing]] = field(default_factory=lambda: defaultdict(set))
    """By their target."""
    _unread: list[Entry] = field(default_factory=list)
    """Rows whose statements are not parsed before somebody asks: there may be many of them."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> History:
        """InternalError for a log that cannot be replayed."""
        history, replay = cls(), Replay(Catalog())
        declare(replay.catalog)
        for entry in entries:
            history.add(entry, replay)
        return history

    def add(self, entry: Entry, replay: Replay) -> None:
        """Have the next entry take effect in a replay of those before, and note what it did.
        InternalError for one that cannot be planned any more."""
        self.length += 1
        for statement in entry.statements:
            done = replay.add(statement)
            if done is None:
                self._unread.append(statement)
            else:
                self._add(statement, *done, replay)

    @property
    def events(self) -> Mapping[Thing, Sequence[Event]]:
        """By the thing that they concerned, in their order."""
        self._read_rows()
        return self._events

    def living(self, thing: Thing) -> Sequence[Event]:
        """What has made a thing what it is; nothing for one that is not there."""
        born = self.born.get(thing)
        return [] if born is None else self.events[thing][born:]

    def concerns(self, statement: Statement) -> set[Thing]:
        """What a statement concerns, as far as that can be known without planning it; nothing
        where it leaves no trace."""
        named = self._named(statement)
        if named is None:
            return set()
        return {named} | self._concerned.get(canonical(statement), set())

    def _named(self, statement: Statement) -> Thing | None:
        """What a statement is about. Of an INSERT without a QUERY_ID, and of a row, the name is the
        statement's text; whether a query runs is a thing of its own."""
        match statement:
            case nodes.InsertInto():
                given = [p.value for p in statement.properties if p.name == "QUERY_ID"]
                return (
                    ("query", str(given[0]).upper()) if given else ("insert", canonical(statement))
                )
            case nodes.InsertValues():
                return "row", canonical(statement)
            case nodes.ControlQuery(action=QueryAction.TERMINATE, query_id=query_id):
                name = query_id or "ALL"
                return self._owners.get(name, ("query", name))
            case nodes.AlterQuery(name=name):
                return self._owners.get(name, ("query", name))
            case nodes.ControlQuery(query_id=query_id):
                return "run", query_id or "ALL"
        kind = statement.creates or statement.changes or statement.ends
        return None if kind is None else (kind, vars(statement)["name"])

    def _read_rows(self) -> None:
        for entry in self._unread:
            statement = parse_one(entry.sql)
            assert isinstance(statement, nodes.InsertValues)
            event = Event(canonical(statement), entry)
            row = ("row", event.text)
            self._events[row].append(event)
            self._rows[statement.target].add(row)
        self._unread.clear()

    def _add(self, entry: Entry, statement: Statement, planned: Planned, replay: Replay) -> None:
        named = self._named(statement)
        if named is None:
            return
        gone = self._gone(planned)
        if isinstance(planned, QueryStatementPlan) and planned.query.query_id is not None:
            if entry.replaces:  # An INSERT without a QUERY_ID is called by its text.
                gone |= {self._owners[planned.query.query_id]} - {named}
            self._owners[planned.query.query_id] = named
            if isinstance(statement, nodes.InsertInto):
                self.queries[named] = replay.queries[planned.query.query_id].definition
        event = Event(canonical(statement), entry)
        concerned = {named, *gone, *self._touched(planned)}
        self._concerned[event.text] |= concerned
        for thing in concerned:
            self._events[thing].append(event)
        for thing in gone:
            self.born.pop(thing, None)
            self.queries.pop(thing, None)
        if statement.creates is not None:
            self.born.setdefault(named, len(self._events[named]) - 1)

    def _gone(self, planned: Planned) -> set[Thing]:
        """What is no more. A stream or table whose query alone has ended is still there."""
        things = planned.ends
        queries = {self._owners[name] for kind, name in things if kind == "query"}
        return {
            *(thing for thing in things if thing[0] != "query"),
            *(owner for owner in queries if owner[0] != "source"),
        }

    def _touched(self, planned: Planned) -> set[Thing]:
        """What else a statement changes: the things that ended queries belong to, whether queries
        run, and, where a topic is deleted, the rows that were written to it."""
        match planned:
            case DropPlan(delete_topic=True):
                self._read_rows()
                ids, rows = planned.terminate, self._rows[planned.source.name]
            case DropPlan():
                ids, rows = planned.terminate, set()
            case ControlPlan():
                ids, rows = planned.query_ids, set()
            case _:
                return set()
        touched = rows | {("run", query_id) for query_id in ids}
        if not (isinstance(planned, ControlPlan) and planned.action is not QueryAction.TERMINATE):
            touched |= {self._owners[query_id] for query_id in ids}
        return touched
