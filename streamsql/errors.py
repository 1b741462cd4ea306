"""User-visible errors: their classes, and their display.

    StreamSQLError
    ├── UserError            the user can correct the statement or settings (exit code 1)
    │   ├── ParseError           invalid syntax
    │   ├── BindError            an unknown or ambiguous name
    │   ├── TypeMismatchError    an expression with incompatible types
    │   ├── PlanError            a query that violates a rule of streams and tables
    │   ├── EvaluationError      an expression without a value, such as a division by zero
    │   ├── CatalogError         an object that exists already, is missing, or is in use
    │   ├── ConfigError          an invalid property or option
    │   └── ForbiddenError       a missing permission
    ├── UnsupportedError     valid SQL that is not supported (exit code 1)
    ├── ExternalError        Kafka, Spark, Java or a file failed (exit code 2)
    └── InternalError        a bug of streamsql (exit code 3)

A message is short, without a full stop; `detail` and `hint` are sentences. `ksqldb` is ksqlDB's
sentence if it differs: `told` joins both for programs that know ksqlDB, `render` is for people and
shows streamsql's only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from streamsql.ksqldb import Sentence


@dataclass(frozen=True)
class Span:
    """A range of the statement's text: `start`/`end` are offsets, `line`/`column` count from 1."""

    start: int
    end: int
    line: int
    column: int


class StreamSQLError(Exception):
    """Base class of all errors."""

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        span: Span | None = None,
        ksqldb: Sentence | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.span = span
        self.ksqldb = ksqldb
        self.sql: str | None = None
        """The text that `span` refers to, once known."""
        self.file: str | None = None
        """Name of the text's file, if known."""

    def located(self, sql: str, file: str | None = None) -> StreamSQLError:
        """Returns the error with its text, unless it already has one."""
        if self.sql is None:
            self.sql, self.file = sql, file
        return self


class UserError(StreamSQLError):
    """The user can correct the statement or settings."""


class ParseError(UserError):
    """The text is not a valid statement."""

    kind = "syntax error"


class BindError(UserError):
    """Unknown or ambiguous name."""

    kind = "name error"


class TypeMismatchError(UserError):
    """The types of an expression do not match."""

    kind = "type error"


class PlanError(UserError):
    """A statement that is invalid in any catalog."""

    kind = "query error"


class EvaluationError(UserError):
    """An expression has no value for a row, as a division by zero, or a recursion does not end."""

    kind = "evaluation error"


class CatalogError(UserError):
    """The statement conflicts with the current catalog."""

    kind = "catalog error"


class ConfigError(UserError):
    """Invalid setting, option or property."""

    kind = "configuration error"


class ForbiddenError(UserError):
    """The user's role lacks a permission."""

    kind = "not allowed"


class UnsupportedError(StreamSQLError):
    """Valid SQL that is not supported; the hint names an alternative."""

    kind = "not supported"


class ExternalError(StreamSQLError):
    """A failure outside of the engine; `retryable`: transient, safe to retry."""

    kind = "external error"
    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        detail: str | None = None,
        hint: str | None = None,
        span: Span | None = None,
        ksqldb: Sentence | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, span=span, ksqldb=ksqldb)
        self.retryable = retryable


class InternalError(StreamSQLError):
    """A bug: the message asks for a report."""

    kind = "internal error"
    exit_code = 3


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint with the closest candidate, or None."""
    by_key = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), by_key, n=1, cutoff=0.6)
    return f"Did you mean {by_key[close[0]]}?" if close else None


def render(error: StreamSQLError, sql: str | None = None, file: str | None = None) -> str:
    """The error as a user reads it, with the line and a caret where its place is known.

    >>> print(render(ParseError("unexpected ;", span=Span(7, 8, 1, 8)), "SELECT ;"))
    syntax error at line 1, column 8: unexpected ;
      SELECT ;
             ^
    """
    text = error.sql if error.sql is not None else sql
    file = error.file or file
    span = error.span
    where = f"{file}:" if file else ""
    if span is None or text is None:
        lines = [f"{where}{' ' if file else ''}{error.kind}: {error.message}"]
    else:
        place = (
            f"{where}{span.line}:{span.column}: {error.kind}"
            if file
            else f"{error.kind} at line {span.line}, column {span.column}"
        )
        lines = [f"{place}: {error.message}", *_excerpt(text, span)]
    if error.detail:
        lines.append(error.detail)
    if error.hint:
        lines.append(f"Hint: {error.hint}")
    return "\n".join(lines)


def _excerpt(sql: str, span: Span) -> list[str]:
    source = sql.splitlines() or [""]
    line = source[min(span.line, len(source)) - 1]
    # A tab stays a tab under the line, which keeps the caret aligned.
    pad = "".join("\t" if c == "\t" else " " for c in line[: span.column - 1])
    width = max(1, min(span.end - span.start, len(line) - span.column + 1))
    return [f"  {line}", f"  {pad}{'^' * width}"]


def unexpected(what: str, error: BaseException) -> StreamSQLError:
    text = str(error).strip().splitlines()
    reason = text[0] if text else type(error).__name__
    found = InternalError(
        f"{what}: {reason}", hint="Run with --debug to see where it comes from, and report it."
    )
    found.__cause__ = error
    return found


_PLACE = "Line: {line}, Col: {column}: "
"""ksqlDB's form of a position, except for syntax errors."""


def told(error: StreamSQLError, statement: str | None = None) -> str:
    """The error in one text: streamsql's (position, message, detail, hint), then ksqlDB's sentence.

    A sentence that ours contains is omitted, and one that contains our message replaces it.
    `statement`: the text of the error, if it has none.
    """
    place, where = "", {}
    if error.span is not None:
        where = {"line": error.span.line, "column": error.span.column}
        form = "line {line}:{column}: " if isinstance(error, ParseError) else _PLACE
        place = form.format(**where)
    hint = error.hint and f"Hint: {error.hint}"
    ours = "\n".join(line for line in (place + error.message, error.detail, hint) if line)
    if error.ksqldb is None:
        return ours
    sentence = error.ksqldb.text(**where, statement=error.sql or statement or "")
    if sentence in ours:
        return ours
    if error.message not in sentence:
        return f"{ours}\n{sentence}"
    rest = [line for line in (error.detail, error.hint) if line and line not in sentence]
    rest = [f"Hint: {line}" if line == error.hint else line for line in rest]
    lead = sentence if place in sentence else place + sentence
    return "\n".join([lead, *rest])
