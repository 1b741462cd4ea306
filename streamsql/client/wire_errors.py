"""Errors as JSON, and back: the caret below a statement is drawn where the statement was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamsql import errors
from streamsql.errors import ExternalError, InternalError, Span, StreamSQLError


def encode_error(error: StreamSQLError, sql: str) -> dict[str, Any]:
    """An error; its text only where that is not the one that was sent, and the file it is in."""
    span = error.span
    place = [span.start, span.end, span.line, span.column] if span else None
    line: dict[str, Any] = {
        "type": "error",
        "class": type(error).__name__,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "span": place,
    }
    if isinstance(error, ExternalError):
        line["retryable"] = error.retryable
    if error.sql not in (None, sql):
        line["sql"] = error.sql
    if error.file is not None:
        line["file"] = error.file
    return line


def decode_error(line: Mapping[str, Any], sql: str | None = None) -> StreamSQLError:
    """The error that `encode_error` wrote, about `sql` if it names no other text."""
    cause = getattr(errors, line["class"], None)
    known = isinstance(cause, type) and issubclass(cause, StreamSQLError)
    kind: type[StreamSQLError] = cause if known else InternalError  # type: ignore[assignment]
    error = kind(
        line["message"],
        detail=line.get("detail"),
        hint=line.get("hint"),
        span=Span(*line["span"]) if line.get("span") else None,
    )
    if isinstance(error, ExternalError):
        error.retryable = bool(line.get("retryable"))
    text = line.get("sql", sql)
    return error if text is None else error.located(text, line.get("file"))
