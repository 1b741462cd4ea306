"""The definitions of files, planned on an empty catalog. Files are declarative: rows, transient
queries and statements that end objects are ignored. Definitions may precede their sources, in any
file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamsql import nodes
from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.nodes import Statement
from streamsql.parser import canonical
from streamsql.parser.tokens.lexer import lex
from streamsql.pipelines.lines import SESSION, Line, read_lines
from streamsql.pipelines.running import Running
from streamsql.planner.changes.sources import as_known
from streamsql.planner.plans.statements import (
    Planned,
    QueryStatementPlan,
    SchemaLookup,
    SourcePlan,
)
from streamsql.planner.processing_log import declare
from streamsql.planner.statements import apply, plan
from streamsql.run_script import NamedText
from streamsql.session import Session

_PASSED_OVER = (nodes.InsertValues, nodes.ControlQuery)


@dataclass(frozen=True)
class Definition:
    """A statement of the files with its properties."""

    line: Line
    properties: Mapping[str, str]
    planned: Planned
    number: int
    """Position in executable order."""

    @property
    def statement(self) -> Statement:
        """The statement without surrounding text."""
        return self.line.statement


@dataclass
class DesiredState:
    """The definitions of the files."""

    catalog: Catalog = field(default_factory=Catalog)
    definitions: dict[tuple[str, str], list[Definition]] = field(default_factory=dict)
    """By kind and name of a stream or table, view, type or function, or of an INSERT query."""
    queries: dict[str, Definition] = field(default_factory=dict)
    """By the ids that these files alone produce."""
    errors: list[StreamSQLError] = field(default_factory=list)
    taken: frozenset[Thing] = frozenset()
    """Objects of the running catalog that partial files do not define."""

    def has(self, thing: Thing) -> bool:
        """Whether the files define the object."""
        kind, name = thing
        return name in self.catalog.things(kind) and thing not in self.taken


def read_desired(
    texts: Sequence[NamedText],
    session: Session,
    schemas: SchemaLookup | None,
    running: Running,
    *,
    partial: bool = False,
) -> DesiredState:
    """Plans all definitions of the files; ParseError for an invalid statement, ForbiddenError for
    one that the session's role cannot read. Statements that ran unchanged are not planned again.
    With `partial`, objects that the files read but do not define are taken from the running
    pipeline. Does not change the session."""
    lines = []
    for text in texts:
        # SET and DEFINE apply to their own file.
        own = replace(
            session, properties=dict(session.properties), variables=dict(session.variables)
        )
        lines += read_lines([text], own)
    planner = _Planner(lines, session.properties, schemas, running)
    if partial:
        planner.take_what_runs()
    for number in range(len(lines)):
        planner.plan(number)
    return planner.desired


class _Planner:
    def __init__(
        self,
        lines: Sequence[Line],
        properties: Mapping[str, str],
        schemas: SchemaLookup | None,
        running: Running,
    ) -> None:
        self.desired = DesiredState()
        declare(self.desired.catalog)
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
        """Starts with all running objects except those that the lines define."""
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
        self.desired.catalog = catalog
        self.desired.taken = frozenset(
            (kind, name) for kind in Catalog.kinds() for name in catalog.things(kind)
        )

    def plan(self, number: int) -> None:
        """Plans a line after the lines it depends on."""
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
            self.desired.errors.append(line.located(error))
            self._broken.add(_name(statement))

    def _plan(self, line: Line) -> None:
        if isinstance(line.statement, nodes.AlterQuery):
            raise UnsupportedError(
                "ALTER QUERY is imperative and cannot be used in pipeline files",
                hint="Use SET before the statement of the query instead.",
            )
        given = {**self._properties, **line.settings}
        properties = {name: value for name, value in given.items() if value is not None}
        self._check_defined(line.statement)
        catalog = self.desired.catalog
        planned = self._known(line.statement, properties)
        if planned is None:
            planned = plan(line.statement, catalog, properties, schemas=self._schemas)
            planned = self._with_its_topic(planned, line.statement)
        apply(planned, catalog)
        definition = Definition(line, properties, planned, self._count)
        self._count += 1
        if isinstance(planned, QueryStatementPlan) and planned.query.query_id is not None:
            self.desired.queries[planned.query.query_id] = definition
        for kind, name in planned.makes:
            if kind != "query":
                self.desired.definitions.setdefault((kind, name), []).append(definition)
            elif isinstance(line.statement, nodes.InsertInto):
                self.desired.definitions[("query", name)] = [definition]

    def _with_its_topic(self, planned: Planned, statement: Statement) -> Planned:
        """A query's result with its current number of partitions: the sources may have more by
        now."""
        if not (isinstance(planned, QueryStatementPlan) and planned.creates_sink and planned.sink):
            return planned
        there = self._running.catalog.sources.get(planned.sink.name)
        if there is None or there.topic.name != planned.sink.topic.name:
            return planned
        return replace(planned, sink=as_known(planned.sink, there, statement))

    def _check_defined(self, statement: Statement) -> None:
        """Raises UnsupportedError for ALTER, COMMENT and DROP of an object of the running
        pipeline."""
        name = _name(statement)
        taken = any(
            (kind, name) in self.desired.taken for kind in ("source", "view", "type", "database")
        )
        if statement.creates is None and taken:
            raise UnsupportedError(
                f"{name} is not defined in these partial files",
                hint=f"Add the CREATE statement of {name}.",
                span=statement.span,
            )

    def _known(self, statement: Statement, properties: Mapping[str, str]) -> Planned | None:
        """The effects of the same statement, if it ran over the same sources."""
        if not isinstance(
            statement, nodes.CreateSource | nodes.CreateAsSelect | nodes.CreateMaterializedView
        ):
            return None
        running, desired = self._running.catalog, self.desired.catalog
        done = self._running.done.get(canonical(statement))
        if done is None or done.properties != properties or running.views or running.types:
            return None
        if running.functions or desired.views or desired.types or desired.functions:
            return None  # their definitions may have changed
        reads: tuple[str, ...] = ()
        match done.planned:
            case SourcePlan(source=made):
                pass
            case QueryStatementPlan(sink=Source() as made, query=query):
                reads = query.reads
            case _:
                return None
        there = running.sources
        same = all(desired.sources.get(name) is there.get(name) for name in reads)
        return done.planned if same and there.get(made.name) is made else None


def _name(statement: Statement) -> str:
    return str(vars(statement).get("name") or "")


def _declared(statement: Statement) -> Statement | None:
    """The declarative form of the statement; None if it has none."""
    if not statement.effect.logged or isinstance(statement, (*SESSION, *_PASSED_OVER)):
        return None
    # On an empty catalog there is nothing to drop, unless the files created it.
    return replace(statement, if_exists=True) if hasattr(statement, "if_exists") else statement  # type: ignore[call-arg]
