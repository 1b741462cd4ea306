"""A streamsql server as the adapter uses it: statements, definitions to plan and apply, the catalog
and the state of queries. The transport and the wire format are those of streamsql-client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamsql.client.received import Received
from streamsql.client.transport import Address, Lines, Transport
from streamsql.errors import StreamSQLError
from streamsql.results import (
    Answer,
    Field,
    LineStream,
    Message,
    Result,
    Rows,
    RowStream,
    Text,
    Warning,
)
from streamsql.session import Session
from streamsql.types import SQLType, is_array, is_map, is_struct, to_sql
from streamsql.values.wire import encoder


class ServerError(Exception):
    """A failed request; `detail` and `hint` are part of the text."""

    def __init__(self, message: str, detail: str | None = None, hint: str | None = None) -> None:
        lines = [message, detail, f"Hint: {hint}" if hint else None]
        super().__init__("\n".join(line for line in lines if line))


@dataclass
class Outcome:
    """The results of a text of statements; the rows are those of the last query."""

    messages: list[str] = field(default_factory=list)
    columns: list[tuple[str, str | None]] = field(default_factory=list)
    """Names and types; the columns of SHOW and DESCRIBE have no types."""
    rows: list[list[Any]] = field(default_factory=list)


class Client:
    """A server, as one user."""

    def __init__(
        self,
        url: str,
        user: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        with _server_errors():
            address = Address.of(url, user, password, Path(ca_file) if ca_file else None)
        self._transport = Transport(address)
        self._properties = {name: str(value) for name, value in (properties or {}).items()}
        self._open: set[Lines] = set()

    def execute(self, sql: str, properties: Mapping[str, Any] | None = None) -> Outcome:
        """Runs the statements of a text. ServerError for the first that fails, and for a query that
        does not end."""
        body = {"sql": sql, "properties": self._with(properties)}
        return self._results("/streamsql/execute", body)

    def plan(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The changes of a text's definitions, as in docs/changing.md. ServerError for the first
        invalid definition."""
        with self._lines("/streamsql/plan", self._files(sql, properties)) as lines:
            answer = next(iter(lines))
            lines.finish()
        if answer["errors"]:
            raise ServerError(answer["errors"][0]["text"])
        changes: list[dict[str, Any]] = answer["changes"]
        return changes

    def apply(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[str]:
        """Applies a text's definitions; returns messages."""
        return self._results("/streamsql/apply", self._files(sql, properties)).messages

    def catalog(self) -> dict[str, Any]:
        """All streams, tables and views."""
        return dict(self._get("/streamsql/catalog"))

    def queries(self) -> list[dict[str, Any]]:
        """The running queries, with state, lag and error."""
        return list(self._get("/streamsql/status")["queries"])

    def cancel(self) -> None:
        """Ends running requests, from any thread: the server ends what no client waits for."""
        for lines in tuple(self._open):
            lines.close()

    def close(self) -> None:
        self.cancel()
        self._transport.close()

    def _files(self, sql: str, properties: Mapping[str, Any] | None) -> dict[str, Any]:
        files = [{"name": "model", "sql": sql}]
        return {"files": files, "partial": True, "properties": self._with(properties)}

    def _with(self, properties: Mapping[str, Any] | None) -> dict[str, str]:
        own = {name: str(value) for name, value in (properties or {}).items()}
        return {**self._properties, **own}

    def _get(self, path: str) -> Any:
        with _server_errors():
            return self._transport.get(path).body

    def _results(self, path: str, body: Mapping[str, Any]) -> Outcome:
        found = Outcome()
        with self._lines(path, body) as lines:
            received = Received(lines, str(body.get("sql", "")), Session())
            try:
                for result in received.results():
                    _take(found, result)
            finally:
                received.close()
        return found

    @contextmanager
    def _lines(self, path: str, body: Mapping[str, Any]) -> Iterator[Lines]:
        """The lines of an answer, which `cancel` ends."""
        with _server_errors():
            lines = self._transport.stream(path, body)
            self._open.add(lines)
            try:
                yield lines
            finally:
                self._open.discard(lines)


@contextmanager
def _server_errors() -> Iterator[None]:
    try:
        yield
    except StreamSQLError as error:
        place = f" (line {error.span.line}, column {error.span.column})" if error.span else ""
        raise ServerError(error.message + place, error.detail, error.hint) from error


def _take(found: Outcome, result: Result) -> None:
    match result:
        case Message() | Warning() | Text():
            found.messages.append(result.text)
        case Rows():
            found.columns, found.rows = _columns(result.fields), [list(row) for row in result.rows]
        case Answer():
            found.columns = _columns(result.fields)
            found.rows = [_cells(result.fields, row.values) for row in result.rows]
        case RowStream() | LineStream():
            raise ServerError(
                "the query does not end, as tests and queries of dbt have to",
                hint="Leave out EMIT CHANGES, or PRINT.",
            )


def _columns(fields: tuple[Field, ...]) -> list[tuple[str, str | None]]:
    return [(each.name, None if each.type is None else to_sql(each.type)) for each in fields]


def _cells(fields: tuple[Field, ...], row: tuple[Any, ...]) -> list[Any]:
    return [_cell(each.type, value) for each, value in zip(fields, row, strict=True)]


def _cell(kind: SQLType | None, value: Any) -> Any:
    """Nested values as JSON text, which agate's tables can hold."""
    if value is None or kind is None or not (is_array(kind) or is_map(kind) or is_struct(kind)):
        return value
    return json.dumps(encoder(kind)(value), ensure_ascii=False)
