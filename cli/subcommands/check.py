"""`streamsql check`: parse and plan the statements of files, and report every error. No JVM."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.catalog import Catalog
from streamsql.cli.options.parser import assignments, properties_of
from streamsql.cli.terminal.render import error_lines
from streamsql.cli.terminal.style import Style
from streamsql.errors import ConfigError, ExternalError, StreamSQLError
from streamsql.nodes import (
    CreateAsSelect,
    CreateSource,
    CreateType,
    DefineVariable,
    RunScript,
    Statement,
    UndefineVariable,
)

if TYPE_CHECKING:
    from streamsql.planner.plans.statements import SchemaLookup


def command(args: argparse.Namespace) -> int:
    """The exit code: 1 where a file has an error."""
    variables = {k.upper(): v for k, v in assignments(args.define, "--define").items()}
    properties = properties_of(args)
    style = Style.of(sys.stdout)
    found = 0
    for name in args.files:
        script = Script(display_name(name), read_script(name))
        checked = check(script, dict(variables), dict(properties))
        for error, wrong in checked.errors:
            print("\n".join(error_lines(error, wrong.sql, wrong.name, style)))
        found += len(checked.errors)
        print(_summary(display_name(name), checked, style))
    return 1 if found else 0


def read_script(name: str) -> str:
    """The text of a file, `-` being standard input; ExternalError where it cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as error:
        raise ExternalError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ExternalError(f"cannot read {name}: it is not UTF-8 text") from error


def display_name(name: str) -> str:
    return "<stdin>" if name == "-" else name


@dataclass(frozen=True)
class Script:
    """A text of statements and the name that errors give it."""

    name: str
    sql: str


@dataclass
class Checked:
    """What a check found; each error with the script it points into."""

    statements: int = 0
    errors: list[tuple[StreamSQLError, Script]] = field(default_factory=list)
    skipped: int = 0
    """Statements about something whose definition is wrong: they would only repeat its error."""


def check(script: Script, variables: dict[str, str], properties: dict[str, str]) -> Checked:
    """Plan every statement against what the statements before it define."""
    checker = _Checker(variables, properties)
    checker.script(script)
    return checker.found


class _Checker:
    def __init__(self, variables: dict[str, str], properties: dict[str, str]) -> None:
        self.found = Checked()
        self._catalog = Catalog()
        self._variables = variables
        self._properties = properties
        self._broken: set[str] = set()
        self._scripts: list[Script] = []

    def script(self, script: Script) -> None:
        from streamsql.parser import parse_each

        self._scripts.append(script)
        for statement in parse_each(script.sql, self._variables):
            self.statement(statement)
        self._scripts.pop()

    def statement(self, statement: Statement | StreamSQLError) -> None:
        self.found.statements += 1
        if isinstance(statement, StreamSQLError):
            self._fail(statement, _defined_by_text(self._scripts[-1].sql, statement))
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
        self.found.errors.append((error, self._scripts[-1]))
        self._broken |= defines

    def _plan(self, statement: Statement) -> None:
        from streamsql.planner.ddl.session import PropertyPlan
        from streamsql.planner.statements import apply, plan

        match statement:
            case DefineVariable():
                self._variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self._variables.pop(statement.name.upper(), None)
            case RunScript():
                self._run(statement)
            case _:
                schemas = self._schemas()
                planned = plan(statement, self._catalog, self._properties, schemas=schemas)
                apply(planned, self._catalog)
                if isinstance(planned, PropertyPlan):
                    self._set(planned.name, planned.value)

    def _schemas(self) -> SchemaLookup | None:
        """The registry that the command or the script names; without one none is asked."""
        from streamsql.properties import SCHEMA_REGISTRY_URL, SCHEMA_REGISTRY_USER

        url = self._properties.get(SCHEMA_REGISTRY_URL)
        if not url:
            return None
        from streamsql.registry.client import RegistryClient, check_url
        from streamsql.registry.lookup import RegistrySchemas

        client = RegistryClient(check_url(url), self._properties.get(SCHEMA_REGISTRY_USER))
        return RegistrySchemas(lambda: client)

    def _run(self, statement: RunScript) -> None:
        if any(script.name == statement.path for script in self._scripts):
            raise ConfigError(f"the script {statement.path} runs itself")
        text = read_script(str(Path(statement.path).expanduser()))
        self.script(Script(statement.path, text))

    def _set(self, name: str, value: str | None) -> None:
        if value is None:
            self._properties.pop(name, None)
        else:
            self._properties[name] = value


def _placed(error: StreamSQLError, statement: Statement) -> StreamSQLError:
    error.span = statement.span
    return error


def _defined_by(statement: Statement) -> set[str]:
    """The names that a statement would have brought into being."""
    match statement:
        case CreateSource() | CreateAsSelect() | CreateType():
            return {statement.name}
    return set()


def _defined_by_text(sql: str, error: StreamSQLError) -> set[str]:
    """The same for a statement that could not be parsed, by its first words."""
    start = error.span.start if error.span else len(sql)
    words = [w for w in sql[:start].rpartition(";")[2].upper().replace("(", " ").split() if w]
    for word in ("STREAM", "TABLE", "TYPE"):
        if words[:1] == ["CREATE"] and word in words[:4]:
            rest = [w for w in words[words.index(word) + 1 :] if w not in ("IF", "NOT", "EXISTS")]
            return {rest[0].strip('`"')} if rest else set()
    return set()


def _names(text: str) -> set[str]:
    from streamsql.parser.tokens.lexer import lex

    return {token.value for token in lex(text) if token.type == "IDENTIFIER"}


def _summary(name: str, checked: Checked, style: Style) -> str:
    count = f"{checked.statements} statement{'' if checked.statements == 1 else 's'}"
    if not checked.errors:
        return style.good(f"{name}: {count}, no errors")
    errors = f"{len(checked.errors)} error{'' if len(checked.errors) == 1 else 's'}"
    after = f", {checked.skipped} not checked because of them" if checked.skipped else ""
    return style.warning(f"{name}: {count}, {errors}{after}")
