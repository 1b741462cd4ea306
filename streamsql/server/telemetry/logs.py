"""The server's log: lines on standard error, of text or of JSON, without secrets in them.

What is logged while a request is at work has the request's id.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from streamsql.masking import mask

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is at work."""

user_name: ContextVar[str | None] = ContextVar("user_name", default=None)
"""Who has sent it, where users log in."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_QUIET = ("py4j", "asyncio", "granian", "httpx2", "urllib3")
"""Loggers whose remarks are for their programmers."""


def configure_logging(
    format: str = "text", level: str = "info", stream: TextIO | None = None
) -> logging.Handler:
    """Log to standard error (or `stream`) as `text` or `json`, from `level` on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    return handler


def announce(text: str) -> None:
    """What whoever has started the server waits to read: a bare line, where lines are text."""
    if any(isinstance(h.formatter, JsonFormatter) for h in logging.getLogger().handlers):
        logging.getLogger("streamsql.server").info(text)
    else:
        print(text, file=sys.stderr, flush=True)


def _more(record: logging.LogRecord) -> dict[str, Any]:
    """What a caller gave in `extra`, and the request."""
    found = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    for name, current in (("user", user_name.get()), ("request_id", request_id.get())):
        if current is not None:
            found.setdefault(name, current)
    return {name: mask(value) if isinstance(value, str) else value for name, value in found.items()}


class JsonFormatter(logging.Formatter):
    """An object a line: time, level, logger, message, what belongs to it, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a JSON object on one line, secrets masked."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": mask(record.getMessage()),
            **_more(record),
        }
        if record.exc_info:
            line["exception"] = mask(self.formatException(record.exc_info))
        return json.dumps(line, default=str, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """A line for people; an exception in further lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of text, secrets masked."""
        more = "".join(f" {name}={value}" for name, value in _more(record).items())
        text = mask(record.getMessage()).replace("\n", "\n  ")
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {text}{more}"
        if record.exc_info:
            line += "\n" + mask(self.formatException(record.exc_info))
        return line


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
