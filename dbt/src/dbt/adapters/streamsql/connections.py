"""Where the server is, and what dbt sends there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseConnectionManager
from dbt.adapters.contracts.connection import (
    AdapterResponse,
    Connection,
    ConnectionState,
    Credentials,
)
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.streamsql.client import Client, Outcome, ServerError
from dbt_common.clients.agate_helper import empty_table, table_from_data_flat
from dbt_common.exceptions import DbtDatabaseError

if TYPE_CHECKING:
    import agate

DATABASE, SCHEMA = "streamsql", "public"
"""There is one of each, and no statement names them."""


@dataclass
class StreamsqlCredentials(Credentials):
    """What a profile of the type `streamsql` says."""

    database: str = DATABASE
    schema: str = SCHEMA
    url: str = "http://localhost:8088"
    user: str | None = None
    password: str | None = None
    ca_file: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    """Those of SET, for all statements."""

    _ALIASES = {"pass": "password", "username": "user"}

    @property
    def type(self) -> str:
        """The name of the adapter."""
        return "streamsql"

    @property
    def unique_field(self) -> str:
        """What dbt tells installations apart by, hashed."""
        return self.url

    def _connection_keys(self) -> tuple[str, ...]:
        # These are what `target` has in macros too.
        return ("url", "user", "ca_file", "properties", "database", "schema")

    def client(self) -> Client:
        """Of the server that they name."""
        return Client(self.url, self.user, self.password, self.ca_file, self.properties)


class StreamsqlConnectionManager(BaseConnectionManager):
    """A client for each of dbt's threads. There are no transactions: statements take effect at
    once."""

    TYPE = "streamsql"

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """What the server says, as dbt shows it."""
        try:
            yield
        except ServerError as error:
            raise DbtDatabaseError(str(error)) from error

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """See whether the server is there."""
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            client = connection.credentials.client()
            client.queries()
        except ServerError as error:
            connection.handle, connection.state = None, ConnectionState.FAIL
            raise FailedToConnectError(str(error)) from error
        connection.handle, connection.state = client, ConnectionState.OPEN
        return connection

    def cancel_open(self) -> list[str]:
        """End what other threads wait for."""
        own, names = self.get_if_exists(), []
        with self.lock:
            for connection in self.thread_connections.values():
                if connection is own or connection.state != ConnectionState.OPEN:
                    continue
                connection.handle.cancel()
                names.append(str(connection.name))
        return names

    def begin(self) -> None:
        """Nothing: see the class."""

    def commit(self) -> None:
        """Nothing: see the class."""

    def clear_transaction(self) -> None:
        """Nothing: see the class."""

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Run a text of statements."""
        with self.exception_handler(sql):
            client: Client = self.get_thread_connection().handle
            found = client.execute(_ended(self._add_query_comment(sql)))
        rows = found.rows if limit is None else found.rows[:limit]
        message = found.messages[-1] if found.messages else "OK"
        response = AdapterResponse(_message=message, rows_affected=len(rows))
        return response, _table(found, rows) if fetch else empty_table()


def _ended(sql: str) -> str:
    """With the semicolon that dbt's queries lack; one more does no harm."""
    return f"{sql}\n;"


def _table(found: Outcome, rows: list[list[Any]]) -> agate.Table:
    # Tools look for names as dbt writes them, and names are upper case here unless quoted.
    names = [name.lower() if name.isupper() else name for name, _ in found.columns]
    return table_from_data_flat([dict(zip(names, row, strict=True)) for row in rows], names)
