"""Checks statements without running them: each is parsed, and planned against the definitions
before it. Needs no Kafka and no Spark; a schema registry is asked only for schemas of the
statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamsql.catalog import Catalog
from streamsql.errors import ConfigError, ParseError, Span, StreamSQLError
from streamsql.nodes import (
    CreateAsSelect,
    CreateDatabase,
    CreateMaterializedView,
    CreateSink,
    CreateSinkOfAll,
    CreateSource,
    CreateType,
    DefineVariable,
    RunScript,
    Statement,
    UndefineVariable,
)
from streamsql.parser import parse_each
from streamsql.parser.tokens.lexer import lex
from streamsql.pipelines.lines import read_lines
from streamsql.planner.ddl.session import ForeignProperty, PropertyPlan
from streamsql.planner.plans.statements import (
    OtherPlan,
    Planned,
    QueryStatementPlan,
    SchemaLookup,
)
from streamsql.planner.statements import apply, plan
from streamsql.registry.client import RegistryClient
from streamsql.registry.lookup import RegistrySchemas
from streamsql.run_script import NamedText
from streamsql.session import Session

__all__ = ["Checked", "NamedText", "check", "check_against", "check_fits", "check_queries_file"]

_WARNING = QueryStatementPlan | ForeignProperty | OtherPlan

ReadFile = Callable[[str], str]
"""Reads a file; raises ExternalError on failure."""


@dataclass
class Checked:
    """Result of a check; each error with its text."""

    statements: int = 0
    errors: list[tuple[StreamSQLError, NamedText]] = field(default_factory=list)
    warnings: list[tuple[str, Span | None, NamedText]] = field(default_factory=list)
    """Warnings about valid statements, with positions."""
    skipped: int = 0
    """Statements about invalid definitions, whose errors would be consequences."""


def check(
    text: NamedText, variables: Mapping[str, str], properties: Mapping[str, str], read: ReadFile
) -> Checked:
    """Plans every statement against the definitions before it; `read` is for RUN SCRIPT."""
    checker = _Checker(variables, properties, read)
    checker.text(text)
    return checker.found


def check_against(
    sql: str, session: Session, catalog: Catalog, schemas: SchemaLookup
) -> list[StreamSQLError]:
    """As `check`, for statements that run in a session of an existing catalog. Uses no registry
    except `schemas`, and reads no files."""
    checker = _Checker(session.variables, session.properties, _no_file)
    checker.catalog, checker.schemas = catalog.copy(), schemas
    checker.text(NamedText("", sql))
    return [error for error, _ in checker.found.errors]


def _no_file(path: str) -> str:
    raise ConfigError(f"cannot read the script {path}: it would be a file of the server")


def check_fits(sql: str, catalog: Catalog, properties: Mapping[str, str]) -> None:
    """Raises the error of the first statement that does not fit the existing catalog."""
    catalog, properties = catalog.copy(), dict(properties)
    for statement in parse_each(sql, {}):
        if isinstance(statement, ParseError):
            raise statement
        planned = plan(statement, catalog, properties)
        apply(planned, catalog)
        _set(planned, properties)


def check_queries_file(text: NamedText, variables: Mapping[str, str]) -> None:
    """Raises the first error of a queries file that can be detected without an engine: an invalid
    statement, or one that is not allowed there."""
    session = Session(variables={name.upper(): value for name, value in variables.items()})
    read_lines([text], session, definitions_only=True)


class _Checker:
    def __init__(
        self, variables: Mapping[str, str], properties: Mapping[str, str], read: ReadFile
    ) -> None:
        self.found = Checked()
        self.catalog = Catalog()
        self.schemas: SchemaLookup | None = None
        """The registry to use, unless the caller or the text names one."""
        self._variables = dict(variables)
        self._properties = dict(properties)
        self._read = read
        self._broken: set[str] = set()
        self._texts: list[NamedText] = []

    def text(self, text: NamedText) -> None:
        self._texts.append(text)
        for statement in parse_each(text.sql, self._variables):
            self._statement(statement)
        self._texts.pop()

    def _statement(self, statement: Statement | StreamSQLError) -> None:
        self.found.statements += 1
        if isinstance(statement, StreamSQLError):
            self._fail(statement, _defined_by_text(self._texts[-1].sql, statement))
            return
        if self._broken & _names(statement.text):
            self.found.skipped += 1
            self._broken |= _defined_by(statement)
            return
        try:
            self._plan(statement)
        except StreamSQLError as error:
            self._fail(error if error.span else _placed(error, statement), _defined_by(statement))

    def _fail(self, error: StreamSQLError, defines: set[str]) -> None:
        self.found.errors.append((error, self._texts[-1]))
        self._broken |= defines

    def _plan(self, statement: Statement) -> None:
        match statement:
            case DefineVariable():
                self._variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self._variables.pop(statement.name.upper(), None)
            case RunScript():
                self._run(statement)
            case _:
                schemas = self._schemas()
                planned = plan(statement, self.catalog, self._properties, schemas=schemas)
                apply(planned, self.catalog)
                _set(planned, self._properties)
                if isinstance(planned, _WARNING) and planned.warning:
                    place = (planned.warning, statement.span, self._texts[-1])
                    self.found.warnings.append(place)

    def _schemas(self) -> SchemaLookup | None:
        """The registry that the caller or the text names, or none."""
        if self.schemas is not None:
            return self.schemas
        client = RegistryClient.of(self._properties)
        return None if client is None else RegistrySchemas(lambda: client)

    def _run(self, statement: RunScript) -> None:
        if any(text.name == statement.path for text in self._texts):
            raise ConfigError(f"the script {statement.path} runs itself")
        sql = self._read(str(Path(statement.path).expanduser()))
        self.text(NamedText(statement.path, sql))


def _set(planned: Planned, properties: dict[str, str]) -> None:
    if isinstance(planned, PropertyPlan) and planned.value is not None:
        properties[planned.name] = planned.value
    elif isinstance(planned, PropertyPlan):
        properties.pop(planned.name, None)


def _placed(error: StreamSQLError, statement: Statement) -> StreamSQLError:
    error.span = statement.span
    return error


def _defined_by(statement: Statement) -> set[str]:
    """The names that a statement would define."""
    match statement:
        case (
            CreateSource()
            | CreateAsSelect()
            | CreateMaterializedView()
            | CreateType()
            | CreateSink()
            | CreateDatabase()
            | CreateSinkOfAll()
        ):
            return {statement.name}
    return set()


def _defined_by_text(sql: str, error: StreamSQLError) -> set[str]:
    """The same for an invalid statement, by its first words."""
    start = error.span.start if error.span else len(sql)
    words = [w for w in sql[:start].rpartition(";")[2].upper().replace("(", " ").split() if w]
    for word in ("STREAM", "TABLE", "TYPE"):
        if words[:1] == ["CREATE"] and word in words[:4]:
            rest = [w for w in words[words.index(word) + 1 :] if w not in ("IF", "NOT", "EXISTS")]
            return {rest[0].strip('`"')} if rest else set()
    return set()


def _names(text: str) -> set[str]:
    return {token.value for token in lex(text) if token.type == "IDENTIFIER"}
