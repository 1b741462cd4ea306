"""What files say is to be there: their definitions, planned on an empty catalog.

A file says what is to be, not what is to be done: rows, queries for people and what ends things
are passed over. A definition may stand before what it reads, in whatever file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamsql import nodes
from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.nodes import Statement
from streamsql.parser.tokens.lexer import lex
from streamsql.planner.changes.sources import as_known
from streamsql.planner.plans.statements import (
    Planned,
    QueryStatementPlan,
    SchemaLookup,
    SourcePlan,
)
from streamsql.planner.statements import apply, plan
from streamsql.run_script import NamedText
from streamsql.runtime.history import canonical
from streamsql.runtime.processing_log import declare
from streamsql.session import Session
from streamsql.statements.changes.running import Running
from streamsql.statements.files.lines import SESSION, Line, read_lines

_PASSED_OVER = (nodes.InsertValues, nodes.ControlQuery)


@dataclass(frozen=True)
class Definition:
    """One statement of the files, with the properties that it is to be run with."""

    line: Line
    properties: Mapping[str, str]
    planned: Planned
    number: int
    """Its place in the order in which all of them can be run."""

    @property
    def statement(self) -> Statement:
        """Without the text around it."""
        return self.line.statement


@dataclass
class Wanted:
    """What the files come to."""

    catalog: Catalog = field(default_factory=Catalog)
    definitions: dict[tuple[str, str], list[Definition]] = field(default_factory=dict)
    """By the kind and name of a stream or table, view, type or function, or of an INSERT query."""
    queries: dict[str, Definition] = field(default_factory=dict)
    """By their ids as these files alone would give them."""
    errors: list[StreamSQLError] = field(default_factory=list)
    taken: frozenset[Thing] = frozenset()
    """What is in the catalog as it runs: the files are a part, and say nothing of it."""

    def has(self, thing: Thing) -> bool:
        """Whether the files say that it is to be."""
        kind, name = thing
        return name in self.catalog.things(kind) and thing not in self.taken


def read_wanted(
    texts: Sequence[NamedText],
    session: Session,
    schemas: SchemaLookup | None,
    running: Running,
    *,
    partial: bool = False,
) -> Wanted:
    """Plan all definitions of the files; ParseError for a statement that is none, ForbiddenError
    for one that the session's role may not even have read. What was run as it stands there, over
    the same, is not planned again. With `partial` the files are a part of a whole: what they
    read and do not define is what runs. The session is not changed."""
    lines = []
    for text in texts:
        # What a file SETs and DEFINEs holds in that file.
        own = replace(
            session, properties=dict(session.properties), variables=dict(session.variables)
        )
        lines += read_lines([text], own)
    planner = _Planner(lines, session.properties, schemas, running)
    if partial:
        planner.take_what_runs()
    for number in range(len(lines)):
        planner.plan(number)
    return planner.wanted


class _Planner:
    def __init__(
        self,
        lines: Sequence[Line],
        properties: Mapping[str, str],
        schemas: SchemaLookup | None,
        running: Running,
    ) -> None:
        self.wanted = Wanted()
        declare(self.wanted.catalog)
        self._lines = lines
        self._properties = properties
        self._schemas = schemas
        self._running = running
        self._count = 0
        self._done: set[int] = set()
        self._broken: set[str] = set()
        self._defines: dict[str, int] = {}
        for number, line in enumerate(lines):
            if line.statement.creates is not None and (name := _name(line.statement)):
                self._defines.setdefault(name, number)

    def take_what_runs(self) -> None:
        """Begin with all that runs, but for what the lines define themselves."""
        catalog = self._running.catalog.copy()
        for line in self._lines:
            kind, name = line.statement.creates, _name(line.statement)
            if isinstance(line.statement, nodes.InsertInto):
                for given in (p for p in line.statement.properties if p.name == "QUERY_ID"):
                    catalog.queries.pop(str(given.value).upper(), None)
            if kind is not None and kind != "query":
                catalog.things(kind).pop(name, None)
            if kind == "source" and (made := self._running.catalog.sources.get(name)) is not None:
                catalog.queries.pop(made.created_by_query or "", None)
            if kind == "sink" and (sink := self._running.catalog.sinks.get(name)) is not None:
                catalog.queries.pop(sink.query_id, None)
        self.wanted.catalog = catalog
        self.wanted.taken = frozenset(
            (kind, name) for kind in Catalog.kinds() for name in catalog.things(kind)
        )

    def plan(self, number: int) -> None:
        """Plan a line, after those that make what it reads."""
        if number in self._done:
            return
        self._done.add(number)
        line = self._lines[number]
        statement = _declared(line.statement)
        if statement is None:
            return
        names = {token.value for token in lex(statement.text) if token.type == "IDENTIFIER"}
        for name in sorted(names & self._defines.keys()):
            self.plan(self._defines[name])
        if names & self._broken:
            self._broken.add(_name(statement))
            return  # would only repeat the error of what it reads
        try:
            self._plan(replace(line, statement=statement))
        except StreamSQLError as error:
            self.wanted.errors.append(line.located(error))
            self._broken.add(_name(statement))

    def _plan(self, line: Line) -> None:
        if isinstance(line.statement, nodes.AlterQuery):
            raise UnsupportedError(
                "ALTER QUERY does not say what is to be, but what is to be done",
                hint="SET the property before the statement of the query.",
            )
        given = {**self._properties, **line.settings}
        properties = {name: value for name, value in given.items() if value is not None}
        self._check_defined(line.statement)
        catalog = self.wanted.catalog
        planned = self._known(line.statement, properties)
        if planned is None:
            planned = plan(line.statement, catalog, properties, schemas=self._schemas)
            planned = self._with_its_topic(planned, line.statement)
        apply(planned, catalog)
        definition = Definition(line, properties, planned, self._count)
        self._count += 1
        if isinstance(planned, QueryStatementPlan) and planned.query.query_id is not None:
            self.wanted.queries[planned.query.query_id] = definition
        for kind, name in planned.makes:
            if kind != "query":
                self.wanted.definitions.setdefault((kind, name), []).append(definition)
            elif isinstance(line.statement, nodes.InsertInto):
                self.wanted.definitions[("query", name)] = [definition]

    def _with_its_topic(self, planned: Planned, statement: Statement) -> Planned:
        """What a query makes, with the partitions that it has: those of what is read may be more
        by now, and would be those of a topic that is to be made."""
        if not (isinstance(planned, QueryStatementPlan) and planned.creates_sink and planned.sink):
            return planned
        there = self._running.catalog.sources.get(planned.sink.name)
        if there is None or there.topic.name != planned.sink.topic.name:
            return planned
        return replace(planned, sink=as_known(planned.sink, there, statement))

    def _check_defined(self, statement: Statement) -> None:
        """UnsupportedError for ALTER, COMMENT and DROP of what is taken as it runs."""
        name = _name(statement)
        taken = any((kind, name) in self.wanted.taken for kind in ("source", "view", "type"))
        if statement.creates is None and taken:
            raise UnsupportedError(
                f"{name} is not defined in these files, which are a part",
                hint=f"Its CREATE before it says what {name} is to be.",
                span=statement.span,
            )

    def _known(self, statement: Statement, properties: Mapping[str, str]) -> Planned | None:
        """What the same statement has done, where that is there, and over what is there."""
        if not isinstance(statement, nodes.CreateSource | nodes.CreateAsSelect):
            return None
        running, wanted = self._running.catalog, self.wanted.catalog
        done = self._running.done.get(canonical(statement))
        if done is None or done.properties != properties or running.views or running.types:
            return None
        if running.functions or wanted.views or wanted.types or wanted.functions:
            return None  # what these stand for may have changed
        reads: tuple[str, ...] = ()
        match done.planned:
            case SourcePlan(source=made):
                pass
            case QueryStatementPlan(sink=Source() as made, query=query):
                reads = query.reads
            case _:
                return None
        there = running.sources
        same = all(wanted.sources.get(name) is there.get(name) for name in reads)
        return done.planned if same and there.get(made.name) is made else None


def _name(statement: Statement) -> str:
    return str(vars(statement).get("name") or "")


def _declared(statement: Statement) -> Statement | None:
    """The statement as one that says what is to be; None for what says nothing of that."""
    if not statement.effect.logged or isinstance(statement, (*SESSION, *_PASSED_OVER)):
        return None
    # On an empty catalog there is nothing to drop, where the files themselves made nothing.
    return replace(statement, if_exists=True) if hasattr(statement, "if_exists") else statement  # type: ignore[call-arg]
