"""The protocol after the login: the effect of each message, simple and extended."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from streamsql.errors import StreamSQLError
from streamsql.postgres.channel import Channel, Gone
from streamsql.postgres.client import IDLE, Client
from streamsql.postgres.copying import copy_from, copy_to
from streamsql.postgres.errors import (
    NO_SUCH_CURSOR,
    NO_SUCH_STATEMENT,
    NOT_SUPPORTED,
    SYNTAX,
    PgError,
    Placed,
    fields_of,
    notice_fields,
)
from streamsql.postgres.forms import Column, RowForm
from streamsql.postgres.prepared import Prepared
from streamsql.postgres.results import Ready, Results
from streamsql.postgres.session_commands import run_command
from streamsql.postgres.sql import commands
from streamsql.postgres.sql.texts import Piece, statements
from streamsql.postgres.wire import answers
from streamsql.postgres.wire.messages import (
    Bind,
    Close,
    CopyData,
    CopyDone,
    CopyFail,
    Describe,
    Execute,
    Flush,
    FunctionCall,
    Message,
    Parse,
    ProtocolError,
    Query,
    Sync,
)

_log = logging.getLogger("streamsql.postgres")
SHORT = 2_000
"""Characters of a text that takes some milliseconds to parse."""
MAX_NAMED = 1000
"""Prepared statements, and portals, of one session."""


@dataclass
class Portal:
    """A statement with its values, being executed."""

    prepared: Prepared
    values: tuple[str, ...]
    form: RowForm
    results: Results | None = None


class SessionProtocol:
    """One client's exchange of messages, which `handle` takes in order."""

    def __init__(self, client: Client, channel: Channel) -> None:
        self.client = client
        self.channel = channel
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._reported: dict[str, str] = {}
        self.answered = False
        """Whether ReadyForQuery was sent for the current message."""
        self._skipping = False
        """Whether messages are skipped after an error, up to the next Sync."""

    def is_short(self, message: Message) -> bool:
        """Whether a message starts no statement."""
        match message:
            case Bind() | Close() | Flush() | Sync():
                return True
            case Describe("P", name):
                portal = self._portals.get(name)
                return portal is not None and self.client.knows_columns(portal.prepared)
            case _:
                return False

    async def handle(self, message: Message) -> None:
        """Handles a message; errors are sent to the client."""
        self.answered = False
        match message:
            case Query(text):
                await self._query(text)
            case Sync():
                await self._sync()
            case CopyData() | CopyDone() | CopyFail():
                return  # Of a COPY that has failed: PostgreSQL, too, passes over it.
            case FunctionCall():
                self.tell(PgError(NOT_SUPPORTED, "the function call protocol is not supported"))
                await self._ready()
            case _ if self._skipping:
                return
            case _:
                try:
                    await self._extended(message)
                except Exception as error:
                    await self._skip(error)

    def tell(self, error: BaseException) -> None:
        """Sends an error with its position in the client's text. Connection-ending errors
        propagate."""
        self.client.failed()
        match error:
            case Placed():
                fields = fields_of(error.error, error.origin)
            case StreamSQLError() | PgError():
                fields = fields_of(error)
            case Gone() | ProtocolError():
                raise error
            case _:
                _log.error("a statement failed", exc_info=error)
                fields = fields_of(error)
        self.channel.write(answers.error(fields))

    async def interrupted(self, message: Message, error: PgError) -> None:
        """The statement of a message was cancelled."""
        if self.answered or self._skipping:
            await self.channel.flush()  # Too late: the response is complete.
            return
        self.tell(error)
        if isinstance(message, Query):
            await self._ready()
        else:
            self._skipping = True
            await self.channel.flush()

    async def _skip(self, error: Exception) -> None:
        """Sends an error immediately, since a client may wait for it, and skips the following
        messages."""
        self.tell(error)
        self._skipping = True
        await self.channel.flush()

    async def _ready(self) -> None:
        self.answered = True
        self.channel.write(answers.ready(self.client.status))
        await self.channel.flush()

    # -- simple ------------------------------------------------------------------------------------

    async def _query(self, text: str) -> None:
        self._close_portal("")
        self._skipping = False
        try:
            pieces = await self._pieces(text)
            if not pieces:
                self.channel.write(answers.EMPTY_QUERY)
            for piece in pieces:
                await self._simple(piece)
        except Exception as error:
            self.tell(error)
        await self._ready()

    async def _pieces(self, text: str) -> list[Piece]:
        """The statements of a text; a long one is read in a thread, since others wait."""
        if len(text) <= SHORT:
            return statements(text)
        return await self.client.limits.short(lambda: statements(text))

    async def _simple(self, piece: Piece) -> None:
        async with self.client.busy():
            prepared = await self.client.prepare(piece)
            if prepared.parameters:
                raise PgError("42P02", "unknown parameter $1")
            self.client.check_may_run(prepared)
            results = await self.start(prepared, (), RowForm(zone=self.client.settings.zone))
        if results is None:
            return
        try:
            if results.columns is not None:
                described = RowForm().description(results.columns)
                self.channel.write(answers.row_description(described))
            await self._send(results, None)
            self._complete(results)
        finally:
            results.close()

    async def start(
        self, prepared: Prepared, values: tuple[str, ...], form: RowForm
    ) -> Results | None:
        """Runs a statement up to its first row. None: it is complete."""
        command = prepared.command
        if isinstance(command, commands.Copy):
            copy = copy_to if command.out else copy_from
            await copy(command, prepared.piece, self.client, self.channel)
            return None
        if isinstance(command, commands.Fetch):
            return await self._fetched(command, form)
        if command is not None:
            tag, rows = await run_command(command, prepared, self.client, self)
            columns = await self.client.columns(prepared)
            return Ready(tag, columns, rows, form)
        return await self.client.start(prepared, values, form)

    async def _fetched(self, command: commands.Fetch, form: RowForm) -> Results:
        cursor = self.client.cursors.get(command.name)
        rows = await cursor.gather(command.rows, command.seconds)
        cursor.park()
        if command.move:
            return Ready(f"MOVE {len(rows)}", None, (), form)
        fetched = Ready(f"FETCH {len(rows)}", cursor.columns or (), rows, form)
        before = cursor.sent - len(rows)
        for remark in cursor.due_remarks(cursor.sent):
            fetched.remarks.append(replace(remark, after=max(0, remark.after - before)))
        return fetched

    async def _send(self, results: Results, limit: int | None) -> bool:
        """Sends at most that number of rows; returns whether there may be more. Continuous rows are
        flushed as they arrive."""
        async with self.client.busy():
            left = limit
            while left is None or left > 0:
                rows = await results.take(left)
                if not rows and results.done:
                    return False
                left = None if left is None else left - len(rows)
                self._remarks(results, results.sent - len(rows))
                for row in rows:
                    self.channel.write(row)
                self._remarks(results, results.sent)
                if results.continuous or self.channel.full:
                    if await self.channel.is_slow():
                        results.park()
                        await self.channel.flush()
            return True

    def _remarks(self, results: Results, sent: int) -> None:
        for remark in results.due_remarks(sent):
            self.remark(remark.text, remark.severity)

    def remark(self, text: str, severity: str = "NOTICE") -> None:
        code = "01000" if severity == "WARNING" else "00000"
        self.channel.write(answers.notice(notice_fields(text, severity, code)))

    def _complete(self, results: Results) -> None:
        self._remarks(results, results.sent)
        self.channel.write(answers.complete(results.tag))

    # -- extended ----------------------------------------------------------------------------------

    async def _sync(self) -> None:
        self._skipping = False
        if self.client.status == IDLE:
            for name in list(self._portals):
                self._close_portal(name)
        await self._ready()

    async def _extended(self, message: Message) -> None:
        match message:
            case Parse():
                await self._parse(message)
            case Bind():
                self._bind(message)
            case Describe(kind, name):
                async with self.client.busy():
                    await self._describe(kind, name)
            case Execute(name, rows):
                await self._execute(name, rows or None)
            case Close(kind, name):
                if kind == "S":
                    self._prepared.pop(name, None)
                else:
                    self._close_portal(name)
                self.channel.write(answers.CLOSED)
            case Flush():
                await self.channel.flush()
            case _:
                raise ProtocolError("a message that has no place here")

    async def _parse(self, message: Parse) -> None:
        if message.name and message.name in self._prepared:
            raise PgError("42P05", f'prepared statement "{message.name}" already exists')
        pieces = await self._pieces(message.text) or [Piece("", 0)]
        if len(pieces) > 1:
            raise PgError(SYNTAX, "cannot insert multiple commands into a prepared statement")
        self._check_room(self._prepared)
        async with self.client.busy():
            prepared = await self.client.prepare(pieces[0], message.types)
        self.client.check_may_run(prepared)
        self._prepared[message.name] = prepared
        self.channel.write(answers.PARSED)

    def _check_room(self, named: dict[str, Prepared] | dict[str, Portal]) -> None:
        if len(named) >= MAX_NAMED:
            raise PgError("54000", f"a session has at most {MAX_NAMED} of them")

    def _bind(self, message: Bind) -> None:
        prepared = self._statement(message.statement)
        self.client.check_may_run(prepared)
        if message.portal and message.portal in self._portals:
            raise PgError("42P03", f'portal "{message.portal}" already exists')
        self._close_portal(message.portal)
        self._check_room(self._portals)
        form = RowForm(message.result_formats, self.client.settings.zone)
        self._portals[message.portal] = Portal(prepared, prepared.values(message), form)
        self.channel.write(answers.BOUND)

    async def _describe(self, kind: str, name: str) -> None:
        if kind == "S":
            prepared = self._statement(name)
            types = [parameter.oid for parameter in prepared.parameters]
            self.channel.write(answers.parameter_description(types))
            self._columns(await self.client.columns(prepared), RowForm())
            return
        if name not in self._portals and name in self.client.cursors.names:
            # A cursor is a portal, too: clients request its columns by this message.
            self._columns(self.client.cursors.get(name).columns, RowForm())
            return
        portal = self._portal(name)
        if portal.results is None and portal.prepared.looks:
            # It ran for its columns, and need not run again.
            portal.results = await self.start(portal.prepared, portal.values, portal.form)
        if portal.results is not None:
            self._columns(portal.results.columns, portal.form)
        else:
            self._columns(await self.client.columns(portal.prepared), portal.form)

    def _columns(self, columns: tuple[Column, ...] | None, form: RowForm) -> None:
        if columns is None:
            self.channel.write(answers.NO_DATA)
        else:
            self.channel.write(answers.row_description(form.description(columns)))

    async def _execute(self, name: str, limit: int | None) -> None:
        portal = self._portal(name)
        if portal.prepared.empty:
            self.channel.write(answers.EMPTY_QUERY)
            return
        if portal.results is None:
            self.client.check_may_run(portal.prepared)
            async with self.client.busy():
                results = await self.start(portal.prepared, portal.values, portal.form)
            if results is None:
                return
            portal.results = results
        if await self._send(portal.results, limit):
            portal.results.park()
            self.channel.write(answers.SUSPENDED)
        else:
            self._complete(portal.results)

    def _statement(self, name: str) -> Prepared:
        if name not in self._prepared:
            raise PgError(NO_SUCH_STATEMENT, f'prepared statement "{name}" does not exist')
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise PgError(NO_SUCH_CURSOR, f'portal "{name}" does not exist')
        return self._portals[name]

    def _close_portal(self, name: str) -> None:
        portal = self._portals.pop(name, None)
        if portal is not None and portal.results is not None:
            portal.results.close()

    def report(self) -> None:
        """Reports settings whose values the client does not know."""
        for name, value in self.client.settings.reported().items():
            if self._reported.get(name) != value:
                self._reported[name] = value
                self.channel.write(answers.parameter_status(name, value))

    def forget(self, name: str | None) -> None:
        """DEALLOCATE one prepared statement, or all."""
        if name is None:
            self._prepared.clear()
        else:
            self._statement(name)
            del self._prepared[name]

    def close(self) -> None:
        """The client has disconnected: nothing may continue for it."""
        for name in list(self._portals):
            self._close_portal(name)
        self.client.close()
