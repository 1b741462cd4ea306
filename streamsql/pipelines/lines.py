"""The statements of files, read before any of them runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamsql import nodes
from streamsql.errors import ParseError, StreamSQLError, UnsupportedError
from streamsql.nodes import Statement
from streamsql.parser import parse_each
from streamsql.planner import permissions
from streamsql.properties import foreign_notice, resolve, settable, validate
from streamsql.run_script import NamedText, file_of_server, read_script
from streamsql.session import Session

SESSION = (
    nodes.SetProperty,
    nodes.UnsetProperty,
    nodes.DefineVariable,
    nodes.UndefineVariable,
)


@dataclass(frozen=True)
class Line:
    """A statement and its position."""

    statement: Statement
    script: NamedText
    settings: Mapping[str, str | None] = field(default_factory=dict)
    """Preceding SETs; None for UNSET."""

    def located(self, error: StreamSQLError) -> StreamSQLError:
        """An error with the position of this statement, or of its first word."""
        span = self.statement.span
        if error.span is None and span is not None:
            word = self.statement.text.split(maxsplit=1)[0]
            error.span = replace(span, end=span.start + len(word))
        return error.located(self.script.sql, self.script.name)


def read_lines(
    scripts: Sequence[NamedText], session: Session, *, definitions_only: bool = False
) -> list[Line]:
    """All statements in order, with those of RUN SCRIPT in its place; `session` is the resulting
    session. Raises the StreamSQLError of the first statement that is invalid, not allowed in a
    definitions file, or not permitted for the session: a file of the server, a restricted
    setting."""
    settings: dict[str, str | None] = {}
    reader = _Reader(session, settings, definitions_only)
    return [line for script in scripts for line in reader.lines(script, ())]


@dataclass
class _Reader:
    session: Session
    settings: dict[str, str | None]
    definitions_only: bool

    def lines(self, script: NamedText, outer: tuple[str, ...]) -> Iterator[Line]:
        for statement in parse_each(script.sql, self.session.substituted):
            if isinstance(statement, ParseError):
                raise statement.located(script.sql, script.name)
            line = Line(statement, script, dict(self.settings))
            try:
                self._check(statement)
                inner = None
                if isinstance(statement, nodes.RunScript):
                    inner = read_script(statement.path, outer)
                else:
                    self._effect(statement)
            except StreamSQLError as error:
                raise line.located(error) from error.__cause__
            if inner is None:
                yield line
            else:
                yield from self.lines(*inner)

    def _check(self, statement: Statement) -> None:
        if isinstance(statement, nodes.RunScript) and self.session.remote:
            raise file_of_server(statement.path)
        if isinstance(statement, SESSION):
            permissions.check(statement, self.session)
        if self.definitions_only and not (
            statement.effect.logged or isinstance(statement, SESSION)
        ):
            raise UnsupportedError(
                "a queries file contains definitions and queries only",
                detail="The server reads it at every start.",
            )

    def _effect(self, statement: Statement) -> None:
        if _foreign(statement):
            return
        match statement:
            case nodes.SetProperty():
                name, value = validate(settable(statement.name).name, statement.value)
                self.settings[name] = self.session.properties[name] = value
            case nodes.UnsetProperty():
                name = settable(statement.name).name
                self.settings[name] = None
                self.session.properties.pop(name, None)
            case nodes.DefineVariable():
                self.session.variables[statement.name.upper()] = statement.value
            case nodes.UndefineVariable():
                self.session.variables.pop(statement.name.upper(), None)


def _foreign(statement: Statement) -> str | None:
    """The name of a SET or UNSET without effect other than a notice."""
    match statement:
        case nodes.SetProperty(name=name) | nodes.UnsetProperty(name=name):
            return name.lower() if foreign_notice(name) else None
    return None


def setting(statement: Statement) -> tuple[str, str]:
    if name := _foreign(statement):
        return "foreign property", name
    match statement:
        case nodes.SetProperty() | nodes.UnsetProperty():
            return "property", resolve(statement.name).name
        case nodes.DefineVariable() | nodes.UndefineVariable():
            return "variable", statement.name.upper()
    raise TypeError(f"does not concern the session: {statement}")


def changes(statement: Statement, session: Session) -> bool:
    """Whether SET, UNSET, DEFINE or UNDEFINE would change the session or give a notice."""
    if _foreign(statement):
        return True
    match statement:
        case nodes.SetProperty():
            name, value = validate(statement.name, statement.value)
            return session.properties.get(name) != value
        case nodes.UnsetProperty():
            return resolve(statement.name).name in session.properties
        case nodes.DefineVariable():
            return session.variables.get(statement.name.upper()) != statement.value
        case nodes.UndefineVariable():
            return statement.name.upper() in session.variables
    return True
