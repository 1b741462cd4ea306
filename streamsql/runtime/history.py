"""The history of each object in the statement log: the statements that defined it. An object is a
stream or table (with its query), a view, a type, a function, an INSERT query, the running state of
a query, or a row of INSERT .. VALUES."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from streamsql import nodes
from streamsql.catalog import Catalog, Thing
from streamsql.executor.queries.definition import Definition
from streamsql.log.entries import Entry
from streamsql.nodes import QueryAction, Statement
from streamsql.parser import canonical, parse_one
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.plans.statements import Planned, QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.runtime.replay import Replay


@dataclass(frozen=True)
class Event:
    """A statement that concerned a thing, by its canonical text."""

    text: str
    entry: Entry


@dataclass
class History:
    """The content of a statement log, added entry by entry while the log is folded."""

    length: int = 0
    """Number of entries added."""

    _events: dict[Thing, list[Event]] = field(default_factory=lambda: defaultdict(list))
    born: dict[Thing, int] = field(default_factory=dict)
    """Number of the event that created each existing object."""
    queries: dict[Thing, Definition] = field(default_factory=dict)
    """Existing INSERT queries."""
    _owners: dict[str, Thing] = field(default_factory=dict)
    """The object of each query id."""
    _concerned: dict[str, set[Thing]] = field(default_factory=lambda: defaultdict(set))
    """The objects of each statement text."""
    _rows: dict[str, set[Thing]] = field(default_factory=lambda: defaultdict(set))
    _unread: list[Entry] = field(default_factory=list)
    """Rows whose statements have not been parsed yet, since there can be many."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> History:
        """Raises InternalError for a log that cannot be replayed."""
        history, replay = cls(), Replay(Catalog())
        declare(replay.catalog)
        for entry in entries:
            history.add(entry, replay)
        return history

    def add(self, entry: Entry, replay: Replay) -> None:
        """Applies the next entry in a replay of the previous ones. Raises InternalError if it can
        no longer be planned."""
        self.length += 1
        for statement in entry.statements:
            done = replay.add(statement)
            if done is None:
                self._unread.append(statement)
            else:
                self._add(statement, *done, replay)

    @property
    def events(self) -> Mapping[Thing, Sequence[Event]]:
        """Events by object, in order."""
        self._read_rows()
        return self._events

    def living(self, thing: Thing) -> Sequence[Event]:
        """The events that define an object; empty if it does not exist."""
        born = self.born.get(thing)
        return [] if born is None else self.events[thing][born:]

    def concerns(self, statement: Statement) -> set[Thing]:
        """The objects of a statement, as far as known without planning it; empty if it leaves no
        trace."""
        named = self._named(statement)
        if named is None:
            return set()
        return {named} | self._concerned.get(canonical(statement), set())

    def _named(self, statement: Statement) -> Thing | None:
        """The object of a statement. An INSERT without QUERY_ID, and a row, are named by the
        statement's text; the running state of a query is an object of its own."""
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
        things = planned.ends
        queries = {self._owners[name] for kind, name in things if kind == "query"}
        return {
            *(thing for thing in things if thing[0] != "query"),
            *(owner for owner in queries if owner[0] != "source"),
        }

    def _touched(self, planned: Planned) -> set[Thing]:
        """Other objects that a statement changes: owners of ended queries, running states, and rows
        of a deleted topic."""
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
