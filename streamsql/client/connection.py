"""API of Python programs: `streamsql.connect()`, to a server or to an embedded engine. Both have
the same interface; only an embedded engine starts Kafka, Spark and a JVM."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from streamsql.client.inserting import batches
from streamsql.client.remote import RemoteEngine
from streamsql.client.result import QueryResult
from streamsql.client.transport import Address
from streamsql.errors import CatalogError, ConfigError
from streamsql.installed import installation_checked
from streamsql.properties import CONSISTENCY_TOKEN, validate
from streamsql.results import Message, Result, RowInserts
from streamsql.session import Session
from streamsql.status import QueryInfo
from streamsql.tokens import merged
from streamsql.types import quote

if TYPE_CHECKING:
    from streamsql.api.catalogs import Catalog


class AnyEngine(Protocol):
    """Common interface of Engine and RemoteEngine."""

    @property
    def session(self) -> Session: ...

    def start(self) -> None:
        """Begin; returns at once."""

    def close(self) -> None:
        """Releases all resources; nothing can be executed afterwards."""

    def execute(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        """Run statements; their results as they come. Raises the StreamSQLError of the first that
        fails."""

    def catalog(self) -> Catalog: ...

    def queries(self) -> list[QueryInfo]: ...

    def inserts(self, target: str) -> RowInserts:
        """A way of inserting rows into a stream or table that asks for its schema once."""


class Connection:
    """An engine as Python programs use it; may be used from several threads.

    `close` it, or use it as a context manager. Errors are StreamSQLErrors.
    """

    def __init__(self, engine: AnyEngine, *, read_your_writes: bool = False) -> None:
        self._engine = engine
        self._waits = read_your_writes

    def sql(self, text: str) -> QueryResult:
        """Run statements one after the other; the result is that of the last one.

        Statements after a push query run when that has ended. Raises the StreamSQLError of the
        first statement that fails; those before it have been done.
        """
        return QueryResult(self._run(text, self._engine.session))

    def _run(self, text: str, session: Session) -> Iterator[Result]:
        """Executes and records consistency tokens."""
        for result in self._engine.execute(text, session):
            if isinstance(result, Message):
                self._note(result.token)
            yield result

    def _note(self, token: str | None) -> None:
        """Later queries wait for the records of the token."""
        if self._waits and token:
            properties = self._engine.session.properties
            known = properties.get(CONSISTENCY_TOKEN)
            properties[CONSISTENCY_TOKEN] = merged(known, token)

    async def sql_async(self, text: str) -> QueryResult:
        """As `sql`, without blocking the event loop."""
        return await asyncio.to_thread(self.sql, text)

    def insert(self, name: str, rows: Iterable[Any]) -> int:
        """Write rows into a stream or table: how many there were.

        A row is a mapping or a dataclass with columns' names (ROWTIME, in milliseconds, may be
        among them), or a sequence with a value for each column. All are in Kafka afterwards; after
        the error of a row, any but that one may be.
        """
        source = self._source(name)
        inserts = self._engine.inserts(quote(source.name))
        count = 0
        for batch in batches(source, rows):
            outcomes = inserts.write(batch)
            self._note(inserts.token)
            for wrong in outcomes:
                if wrong is not None:
                    raise wrong
            count += len(batch)
        return count

    def _source(self, name: str) -> Any:
        for attempt in range(2):
            catalog = self._engine.catalog()
            for candidate in (name, name.upper()):
                if candidate in catalog.sources:
                    return catalog.sources[candidate]
            if attempt == 0:
                # It may be so new that a server's catalog is not known here yet.
                refresh = getattr(self._engine, "refresh", None)
                if refresh is None:
                    break
                refresh()
        try:
            return catalog.get(name.upper())
        except CatalogError as error:
            raise error.located(name) from None

    def catalog(self) -> Catalog:
        """The cached streams, tables, views and types."""
        return self._engine.catalog()

    def queries(self) -> list[QueryInfo]:
        return list(self._engine.queries())

    def close(self) -> None:
        """Disconnects from a server, or stops the embedded engine."""
        self._engine.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    url: str | None = None,
    *,
    user: str | None = None,
    password: str | None = None,
    ca_file: str | Path | None = None,
    properties: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    data: str | Path | None = None,
    bootstrap_servers: str | None = None,
    kafka: Mapping[str, str] | None = None,
    master: str | None = None,
    read_your_writes: bool = False,
) -> Connection:
    """Connect to the server at `url`; without one, start an engine in this process.

    `user`, `password` and `ca_file` (certificates to trust) are for servers that ask for them.
    `properties` are those of SET, `variables` those of DEFINE. `data`, `bootstrap_servers` and
    `master` are the data folder, Kafka and Spark of an engine of one's own; by default the user's
    folder, an embedded Kafka and a local Spark; `kafka` says how to log in to those servers, in the
    words of Kafka's Java client (security.protocol, sasl.*, ssl.*). With
    `read_your_writes`, a pull query waits until it sees what this connection has written before,
    also through the queries in between.

    Raises ExternalError where no server can be reached, ConfigError for a wrong setting.
    """
    checked = dict(validate(name, str(value)) for name, value in (properties or {}).items())
    engine: AnyEngine
    if url is not None:
        if any(given is not None for given in (data, bootstrap_servers, kafka, master)):
            raise ConfigError("data, bootstrap_servers, kafka and master are options of the server")
        engine = _remote(url, user, password, ca_file)
        engine.session.properties.update(checked)
    else:
        engine = _embedded(checked, data, bootstrap_servers, kafka or {}, master)
    named = {name.upper(): str(value) for name, value in (variables or {}).items()}
    engine.session.variables.update(named)
    engine.start()
    return Connection(engine, read_your_writes=read_your_writes)


def _remote(
    url: str, user: str | None, password: str | None, ca_file: str | Path | None
) -> AnyEngine:
    return RemoteEngine(Address.of(url, user, password, Path(ca_file) if ca_file else None))


def _embedded(
    properties: Mapping[str, str],
    data: str | Path | None,
    bootstrap_servers: str | None,
    kafka: Mapping[str, str],
    master: str | None,
) -> AnyEngine:
    with installation_checked():
        from streamsql.engine import Engine, EngineConfig
    config = EngineConfig(
        data_dir=Path(data).expanduser() if data is not None else None,
        bootstrap_servers=bootstrap_servers,
        kafka=kafka,
        master=master,
        properties=properties,
        serve_tables=True,
    )
    return Engine(config)
