"""A streamsql server over HTTP, with the standard library alone: statements, files that are
planned and applied, what there is and how its queries stand.

Answers are JSON values, a line each; docs/server.md tells the paths.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

DEFAULT_PORT = 8088
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 60.0
"""A server at work says every few seconds that it is there."""


class ServerError(Exception):
    """What a server, or the way to it, has to say; `detail` and `hint` are part of the text."""

    def __init__(self, message: str, detail: str | None = None, hint: str | None = None) -> None:
        lines = [message, detail, f"Hint: {hint}" if hint else None]
        super().__init__("\n".join(line for line in lines if line))


@dataclass
class Outcome:
    """What the statements of a text have given: the rows are those of the last query."""

    messages: list[str] = field(default_factory=list)
    columns: list[tuple[str, str | None]] = field(default_factory=list)
    """Names and types; what SHOW and DESCRIBE give has no types."""
    rows: list[list[Any]] = field(default_factory=list)


class Client:
    """One server, and who asks. Each request has a connection of its own."""

    def __init__(
        self,
        url: str,
        user: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(
                f"{url} is not the address of a server", hint="For example http://localhost:8088."
            )
        self.url = url
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._port = parts.port or (None if "://" in url else DEFAULT_PORT)
        self._path = parts.path.rstrip("/")
        self._ca_file = ca_file
        self._properties = {name: str(value) for name, value in (properties or {}).items()}
        self._headers = {"Content-Type": "application/json", "User-Agent": "dbt-streamsql"}
        if user is not None:
            pair = base64.b64encode(f"{user}:{password or ''}".encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def execute(self, sql: str, properties: Mapping[str, Any] | None = None) -> Outcome:
        """Run the statements of a text. ServerError for the first that fails, and for a query that
        would never end."""
        found = Outcome()
        body = {"sql": sql, "properties": self._with(properties)}
        for line in self._lines("/streamsql/execute", body):
            if isinstance(line, list):
                found.rows.append(_cells(found.columns, line))
            else:
                _take(found, line)
        return found

    def plan(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """What a text's definitions would change, and what runs besides: see docs/changing.md.
        ServerError for the first that cannot be."""
        (answer,) = self._lines("/streamsql/plan", self._files(sql, properties))
        if answer["errors"]:
            raise ServerError(answer["errors"][0]["text"])
        changes: list[dict[str, Any]] = answer["changes"]
        return changes

    def apply(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[str]:
        """Have a text's definitions be what runs: what was done."""
        found = Outcome()
        for line in self._lines("/streamsql/apply", self._files(sql, properties)):
            _take(found, line)
        return found.messages

    def catalog(self) -> dict[str, Any]:
        """All streams, tables and views."""
        (found,) = self._lines("/streamsql/catalog")
        return dict(found)

    def queries(self) -> list[dict[str, Any]]:
        """The queries that run, with state, lag and error."""
        (found,) = self._lines("/streamsql/status")
        return list(found["queries"])

    def cancel(self) -> None:
        """End what is under way, from any thread: the server ends what nobody waits for."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Nothing is kept between requests."""
        self.cancel()

    def _files(self, sql: str, properties: Mapping[str, Any] | None) -> dict[str, Any]:
        files = [{"name": "model", "sql": sql}]
        return {"files": files, "partial": True, "properties": self._with(properties)}

    def _with(self, properties: Mapping[str, Any] | None) -> dict[str, str]:
        own = {name: str(value) for name, value in (properties or {}).items()}
        return {**self._properties, **own}

    def _lines(self, path: str, body: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The lines of an answer; ServerError for one that is refused or breaks off."""
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        with self._connection() as connection:
            try:
                connection.request(method, self._path + path, content, self._headers)
                response = connection.getresponse()
                if response.status != 200:
                    raise self._refused(response.status, response.read())
                for line in response:
                    yield json.loads(line)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ServerError(f"the connection to {self.url} was lost: {error}") from error

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        connection: http.client.HTTPConnection
        try:
            if self._secure:
                context = ssl.create_default_context(cafile=self._ca_file)
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=CONNECT_SECONDS, context=context
                )
            else:
                connection = http.client.HTTPConnection(
                    self._host, self._port, timeout=CONNECT_SECONDS
                )
            connection.connect()
        except OSError as error:
            raise ServerError(
                f"cannot reach {self.url}: {error}",
                hint="Is a server running there? `streamsql server` starts one.",
            ) from None
        opened = connection.sock
        opened.settimeout(SILENCE_SECONDS)
        with self._lock:
            self._open.add(opened)
        try:
            yield connection
        finally:
            with self._lock:
                self._open.discard(opened)
            connection.close()

    def _refused(self, status: int, body: bytes) -> ServerError:
        if status == 401:
            return ServerError(
                f"{self.url} rejected the login of this user",
                hint="`user` and `password` of the profile are those of the server's users file.",
            )
        with suppress(ValueError, KeyError, TypeError):
            return ServerError(str(json.loads(body)["message"]))
        return ServerError(f"{self.url} answered with status {status}: is it a streamsql server?")


def _take(found: Outcome, line: Mapping[str, Any]) -> None:
    """A line that is no row."""
    match line["type"]:
        case "message" | "warning" | "text":
            found.messages.append(line["text"])
        case "rows":
            found.columns = [(name, kind) for name, kind in line["fields"]]
            found.rows = [list(row) for row in line["rows"]]
        case "answer":
            found.columns = [(name, kind) for name, kind, _ in line["columns"]]
            found.rows = []
        case "row_stream" | "line_stream":
            raise ServerError(
                "the query goes on for ever: a test or a query of dbt's has to end",
                hint="Leave out EMIT CHANGES, or PRINT.",
            )
        case "error":
            raise _error(line)


def _error(line: Mapping[str, Any]) -> ServerError:
    message, span = str(line["message"]), line.get("span")
    if span:
        message = f"{message} (line {span[2]}, column {span[3]})"
    return ServerError(message, line.get("detail"), line.get("hint"))


_OF_TEXT: dict[str, Callable[[Any], Any]] = {
    "DECIMAL": Decimal,
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
    "DOUBLE": float,
}
"""What JSON has no form for is sent as text."""
_NESTED = ("ARRAY", "MAP", "STRUCT")


def _cells(columns: list[tuple[str, str | None]], row: list[Any]) -> list[Any]:
    pairs = zip(columns, row, strict=True)
    return [None if cell is None else _cell(kind or "", cell) for (_, kind), cell in pairs]


def _cell(kind: str, cell: Any) -> Any:
    name = kind.partition("(")[0].partition("<")[0]
    if name in _NESTED:
        return json.dumps(cell, ensure_ascii=False)
    convert = _OF_TEXT.get(name)
    return cell if convert is None else convert(cell)
