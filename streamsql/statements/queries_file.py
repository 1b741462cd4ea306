"""A server without interactive statements runs those of a file, and those alone.

Each is run once: at a later start what the log holds already is passed over. So the file may grow;
what has been run cannot be changed in it, only by statements that follow (CREATE OR REPLACE, DROP).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsql import nodes
from streamsql.errors import ConfigError, ParseError, UnsupportedError
from streamsql.log.entries import Entry
from streamsql.nodes import Statement
from streamsql.parser import parse_each, to_sql

_SESSION = frozenset(
    {nodes.SetProperty, nodes.UnsetProperty, nodes.DefineVariable, nodes.UndefineVariable}
)


def check_file(sql: str, variables: dict[str, str]) -> None:
    """Raise the first error that can be seen without an engine: a statement that is none, or that
    has no place in such a file."""
    for _ in _statements(sql, dict(variables)):
        pass


def left_to_run(
    sql: str, variables: dict[str, str], entries: Sequence[Entry]
) -> Iterator[Statement]:
    """The statements that the log does not hold yet, each once the one before has been run.

    ConfigError where the log holds something else than the file begins with.
    """
    done = list(entries)
    for statement in _statements(sql, dict(variables)):
        if done and done[0].sql == to_sql(statement) + ";":
            done.pop(0)
        elif not done:
            yield statement
        elif not _conditional(statement):
            raise _differs(done[0], statement)
    if done:
        raise _differs(done[0], None)


def _statements(sql: str, variables: dict[str, str]) -> Iterator[Statement]:
    for statement in parse_each(sql, variables):
        match statement:
            case ParseError():
                raise statement
            case nodes.DefineVariable():
                variables[statement.name.upper()] = statement.value
            case nodes.UndefineVariable():
                variables.pop(statement.name.upper(), None)
        if not statement.effect.logged and type(statement) not in _SESSION:
            raise UnsupportedError(
                "a queries file holds definitions and queries only",
                detail="It is read at every start of the server.",
                span=statement.span,
            )
        yield statement


def _conditional(statement: Statement) -> bool:
    """Whether there may be nothing in the log of it, though it has been run."""
    if isinstance(statement, nodes.UndefineVariable):
        return True
    return any(getattr(statement, name, False) for name in ("if_not_exists", "if_exists"))


def _differs(entry: Entry, statement: Statement | None) -> ConfigError:
    return ConfigError(
        f"the queries file differs from what has been run, at statement {entry.sequence}",
        detail=f"It was: {entry.sql}",
        hint="Statements may be added at the file's end; CREATE OR REPLACE changes a query. To "
        "start afresh use another --service-id, or another folder with --data.",
        span=statement.span if statement else None,
    )
