"""The server's log: text or JSON lines on standard error, without secrets. Lines of a request
contain its id."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from streamsql.masking import mask

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Id of the current request."""

user_name: ContextVar[str | None] = ContextVar("user_name", default=None)
"""User of the current request, if users log in."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_QUIET = ("py4j", "asyncio", "granian", "httpx2", "urllib3")
"""Loggers whose messages are for their developers."""


def configure_logging(
    format: str = "text", level: str = "info", stream: TextIO | None = None
) -> logging.Handler:
    """Logs to standard error (or `stream`) as `text` or `json`, from `level` on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    return handler


def announce(text: str) -> None:
    """Startup messages for the user: a plain line in text mode."""
    if any(isinstance(h.formatter, JsonFormatter) for h in logging.getLogger().handlers):
        logging.getLogger("streamsql.server").info(text)
    else:
        print(text, file=sys.stderr, flush=True)


def _more(record: logging.LogRecord) -> dict[str, Any]:
    """The `extra` of a caller, and the request."""
    found = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    for name, current in (("user", user_name.get()), ("request_id", request_id.get())):
        if current is not None:
            found.setdefault(name, current)
    return {name: mask(value) if isinstance(value, str) else value for name, value in found.items()}


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, extras, exception."""

    def format(self, record: logging.LogRecord) -> str:
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
    """One line per message; exceptions in further lines."""

    def format(self, record: logging.LogRecord) -> str:
        more = "".join(f" {name}={value}" for name, value in _more(record).items())
        text = mask(record.getMessage()).replace("\n", "\n  ")
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {text}{more}"
        if record.exc_info:
            line += "\n" + mask(self.formatException(record.exc_info))
        return line


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
