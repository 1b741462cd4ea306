"""A server with the interface of an engine: `execute`, `catalog`, `queries`, `startup`, `session`.
Statements are sent as text, and results return line by line. RUN SCRIPT is executed locally, since
its file is local. SET and DEFINE are stored locally and sent with each text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamsql.client.received import Received
from streamsql.client.scripts import Piece, pieces
from streamsql.client.transport import Address, Transport
from streamsql.client.watch import Watch
from streamsql.errors import ConfigError
from streamsql.results import Result, RowInserts
from streamsql.run_script import run_script
from streamsql.session import Session
from streamsql.status import QueryInfo, StartupStatus

if TYPE_CHECKING:
    from streamsql.api.catalogs import Catalog
    from streamsql.client.remote_changes import RemoteChanges

EXECUTE = "/streamsql/execute"


class RemoteEngine:
    """A connection to a server; may be used from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.session = Session(remote=True)
        self._transport = Transport(address)
        self._watch = Watch(self._transport)
        self._open = False

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Connects to the server; ExternalError without one, ConfigError if it rejects the
        login."""
        try:
            self._watch.look()
        except BaseException:
            self.close()
            raise
        self._open = True

    def close(self) -> None:
        self._open = False
        self._watch.close()
        self._transport.close()

    def __enter__(self) -> RemoteEngine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inspection --------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        return self._watch.version

    def startup(self) -> StartupStatus:
        """How far the server's start is, as it last said."""
        return self._watch.startup()

    def queries(self) -> list[QueryInfo]:
        """The server's queries, as it last said."""
        return self._watch.queries()

    def catalog(self) -> Catalog:
        """The server's catalog, as it last said."""
        return self._watch.catalog()

    def refresh(self) -> None:
        """Ask for the catalog now."""
        self._watch.refresh()

    # -- statements ------------------------------------------------------------------------------

    def execute(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        """Run the statements of a text one after the other, as Engine.execute does."""
        yield from self._execute(sql, session or self.session, ())

    def _execute(self, sql: str, session: Session, scripts: tuple[str, ...]) -> Iterator[Result]:
        """`scripts` are those that are being run, the innermost last."""
        if not self._open:
            raise ConfigError("the connection is closed")
        for piece in pieces(sql, session.substituted):
            if piece.script is None:
                yield from self._send(piece, sql, session)
            else:
                yield from run_script(
                    piece.script, scripts, lambda text, own: self._execute(text, session, own)
                )

    @property
    def changes(self) -> RemoteChanges:
        if not self._open:
            raise ConfigError("the connection is closed")
        from streamsql.client.remote_changes import RemoteChanges

        return RemoteChanges(self._transport, self.session)

    def inserts(self, target: str) -> RowInserts:
        """A way to write many rows into a stream or table, named as in SQL."""
        if not self._open:
            raise ConfigError("the connection is closed")
        from streamsql.client.remote_inserts import RemoteInserts

        return RemoteInserts(self._transport, target, self.session.properties)

    def _send(self, piece: Piece, sql: str, session: Session) -> Iterator[Result]:
        body = {
            "sql": piece.text,
            "properties": session.properties,
            "sessionVariables": session.variables,
        }
        answer = Received(self._transport.stream(EXECUTE, body), sql, session)
        try:
            yield from answer.results()
        finally:
            answer.close()
            self._watch.hurry()
