"""One client's session: settings, prepared statements, and execution."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from streamsql.engine import Engine, Script
from streamsql.errors import StreamSQLError
from streamsql.postgres.concurrency_limits import ConcurrencyLimits, Slot
from streamsql.postgres.cursors import Cursors
from streamsql.postgres.errors import (
    CANCELLED,
    FAILED_TRANSACTION,
    PgError,
    Placed,
)
from streamsql.postgres.forms import Column, Form, RowForm, columns_of, named
from streamsql.postgres.prepared import Prepared, Preparer, system_samples
from streamsql.postgres.results import LINE, Ready, Remark, Results, Working
from streamsql.postgres.settings import (
    ALIASES,
    PostgresConfig,
    Settings,
    is_of_another_engine,
)
from streamsql.postgres.sql import commands
from streamsql.postgres.sql.texts import Piece, Written
from streamsql.postgres.values.types import TEXT
from streamsql.properties import VIEW_EPOCH, settable, validate
from streamsql.results import Answer, Result
from streamsql.roles import acting_as
from streamsql.session import Session

_SEEN = frozenset(
    {"Show", "ShowLineage", "Describe", "DescribeAll", "DescribeFunction", "DescribeErrors"}
    | {"DescribeSink", "DescribeDatabase", "Explain"}
)
"""Read-only statements: they are run to determine their columns."""
IDLE, IN_TRANSACTION, FAILED = "I", "T", "E"


@dataclass(frozen=True)
class Asker:
    """Session facts for the system catalog. `trial`: only the columns are requested, with sample
    values."""

    user: str
    settings: Settings
    cursors: Sequence[str]
    process: int = 0
    """The number of the connection."""
    trial: bool = False


class System(Protocol):
    """Answers queries of pg_catalog and similar schemas."""

    def takes(self, text: str) -> bool: ...

    def answer(
        self, text: str, asker: Asker
    ) -> tuple[tuple[Column, ...], list[tuple[object, ...]]]:
        """The columns and rows, as of a session; PgError if it cannot be answered. Blocks."""
        ...


@dataclass
class Client:
    """State and behavior of a connection above the byte level. Used on the event loop."""

    engine: Engine
    config: PostgresConfig
    limits: ConcurrencyLimits
    system: System
    user: str
    session: Session
    settings: Settings
    process: int = 0
    """The number of its connection, for cancellation."""

    def __post_init__(self) -> None:
        self.status = IDLE
        self.cursors = Cursors()
        self.changed = False
        """Whether the transaction has changed anything, which cannot be rolled back."""
        self._reads_epoch = False
        """Whether the transaction reads views as of one epoch."""
        self.preparer = Preparer(self.engine, self.session, self.system.takes)

    # -- preparing ---------------------------------------------------------------------------------

    async def prepare(self, piece: Piece, types: tuple[int, ...] = ()) -> Prepared:
        known = self.preparer.known(piece, types)
        if known is not None:
            return known
        return await self.limits.short(lambda: self.preparer.prepare(piece, types))

    async def columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """Columns of the result; None without rows."""
        match prepared.command:
            case commands.ShowSetting(name):
                return (Column(Settings.shown(name), TEXT),)
            case commands.Fetch(name, move=False):
                cursor = self.cursors.get(name)
                await cursor.begin()
                return cursor.columns
            case None:
                pass
            case _:
                return None
        if prepared.empty:
            return None
        if prepared.system:
            samples = system_samples(prepared.parameters)
            return (await self._asked(prepared.template.filled(samples).text, trial=True))[0]
        if prepared.looks or prepared.tag == "PRINT":
            return await self._looked_at(prepared)
        if self.preparer.knows_columns(prepared):
            return self.preparer.columns(prepared)
        return await self.limits.short(lambda: self.preparer.columns(prepared))

    def knows_columns(self, prepared: Prepared) -> bool:
        """Whether `columns` returns without waiting."""
        plain = prepared.command is None and not prepared.looks and not prepared.empty
        return plain and self.preparer.knows_columns(prepared)

    async def _looked_at(self, prepared: Prepared) -> tuple[Column, ...] | None:
        values = ("''",) * len(prepared.parameters)
        written = prepared.template.filled(values)
        script = await self.limits.short(lambda: self.preparer.parsed(written))
        if script.statements[0].kind == "Print":
            return columns_of([LINE])
        if script.statements[0].kind not in _SEEN:
            return None
        results = self._working(prepared, script, written, RowForm())
        await self.limits.work.enter()
        _when_ended(results, self.limits.work.leave)
        try:
            await results.begin()
            return results.columns
        finally:
            results.close()

    # -- running -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Statements in the block have `statement_timeout`."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                yield
        except TimeoutError:
            raise PgError(CANCELLED, "canceling statement due to statement timeout") from None

    async def start(self, prepared: Prepared, values: tuple[str, ...], form: Form) -> Results:
        """Starts a statement of the engine, or of the system: its columns are known when this
        returns."""
        if prepared.system:
            columns, rows = await self._asked(prepared.template.filled(values).text)
            return Ready("SELECT", named(columns, prepared.piece.text), rows, form)
        written = prepared.template.filled(values)
        # What is prepared needs no thread and does not block.
        coming = self._soon(written)
        answer = None if coming is None else await self._placed(coming, written)
        if answer is not None:
            return self._answered(answer, prepared, form)
        script = await self.limits.short(lambda: self.preparer.parsed(written))
        (statement,) = script.statements
        self._check_leads(script)
        if statement.is_query and not statement.continuous:
            answer = await self._placed(self.limits.short(lambda: self._lookup(script)), written)
            if answer is not None:
                return self._answered(answer, prepared, form)
        results = self._working(prepared, script, written, form)
        waiting = sum(map(len, (self.session.transaction or {}).values()))
        slot = await self.limits.admitted(continuous=statement.continuous)
        _when_ended(results, slot.release)
        results.park = partial(_park, slot, results)
        try:
            await results.begin()
        except BaseException:
            results.close()
            raise
        if results.columns is not None:
            results.columns = named(results.columns, prepared.piece.text)
        waits = sum(map(len, (self.session.transaction or {}).values())) > waiting
        self.changed |= (statement.logged or statement.kind == "InsertValues") and not waits
        return results

    def _soon(self, written: Written) -> Awaitable[Answer | None] | None:
        try:
            return self.engine.lookup_soon(written.text, self.session)
        except StreamSQLError:
            return None  # The usual way has the same result, and reports it.

    def _lookup(self, script: Script) -> Answer | None:
        return self.engine.lookup(script, self.session)

    def _answered(self, answer: Answer, prepared: Prepared, form: Form) -> Results:
        rows = (row.values for row in answer.rows)
        columns = named(columns_of(answer.fields), prepared.piece.text)
        return Ready("SELECT", columns, rows, form)

    def _working(self, prepared: Prepared, script: Script, written: Written, form: Form) -> Working:
        def run() -> Iterator[Result]:
            try:
                with acting_as(self.session.role):
                    yield from self.engine.execute(script, self.session)
            except StreamSQLError as error:
                raise Placed(error, written.origin) from None

        tag = prepared.tag
        if script.statements and script.statements[0].kind == "InsertValues":
            tag = f"INSERT 0 {script.statements[0].row_count}"
        return Working(tag, run, form, self.config.buffer_rows)

    async def _placed(self, coming: Awaitable[Answer | None], written: Written) -> Answer | None:
        try:
            return await coming
        except StreamSQLError as error:
            raise Placed(error, written.origin) from None

    def _check_leads(self, script: Script) -> None:
        if not self.engine.leads and self.engine.needs_leader(script):
            leader = self.engine.leader_url
            raise PgError(
                "25006",
                "this server is a follower: only the leader accepts changes",
                hint=f"The leader is {leader}." if leader else None,
            )

    async def _asked(
        self, text: str, *, trial: bool = False
    ) -> tuple[tuple[Column, ...], list[tuple[object, ...]]]:
        asker = Asker(self.user, self.settings, self.cursors.names, self.process, trial)
        return await self.limits.short(lambda: self.system.answer(text, asker))

    # -- settings ----------------------------------------------------------------------------------

    def set(self, name: str, value: str | None) -> str | None:
        """SET of a setting, or of a property of the engine; a notice if it has no effect."""
        name = ALIASES.get(name, name)
        if name.startswith(("streamsql.", "ksql.")):
            if value is None:
                self.session.properties.pop(name, None)
            else:
                known, checked = validate(settable(name).name, value.lower())
                self.session.properties[known] = checked
            return None
        if is_of_another_engine(name):
            return f"{name} is a setting of another engine: it changes nothing here"
        self.settings.set(name, value)
        return None

    # -- transactions ------------------------------------------------------------------------------

    def check_may_run(self, prepared: Prepared) -> None:
        """Raises PgError in a failed transaction, except for statements that end it."""
        command = prepared.command
        ends = isinstance(command, commands.Transaction) and command.action != "SAVEPOINT"
        if self.status == FAILED and not ends and not prepared.empty:
            raise PgError(
                FAILED_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )

    def failed(self) -> None:
        if self.status == IN_TRANSACTION:
            self.status = FAILED
            self.session.transaction = {}

    async def transaction(
        self, action: str, *, of_one_moment: bool = False
    ) -> tuple[str, list[Remark]]:
        """Begins or ends a transaction; returns the responses. Changes of plain tables are written
        by COMMIT; other statements take effect immediately, and a rollback warns of them.
        `of_one_moment`: views are read as of one epoch until its end."""
        remarks = []
        tag = action
        if action == "BEGIN":
            if self.status != IDLE:
                remarks.append(Remark("there is already a transaction in progress", "WARNING"))
            else:
                self.status, self.changed = IN_TRANSACTION, False
                self.session.transaction = {}
                if of_one_moment:
                    await self._begin_epoch()
        elif action in ("SAVEPOINT", "RELEASE", "ROLLBACK TO"):
            if self.status == IDLE:
                raise PgError("25P01", f"{action} can only be used in transaction blocks")
            self.status = IN_TRANSACTION
            tag = "ROLLBACK" if action == "ROLLBACK TO" else action
        else:
            if self.status == IDLE:
                remarks.append(Remark("there is no transaction in progress", "WARNING"))
            committed = action == "COMMIT" and self.status == IN_TRANSACTION
            if action == "COMMIT" and self.status == FAILED:
                tag = "ROLLBACK"
            self.cursors.end_transaction()
            self.status = IDLE
            if committed and self.session.transaction:
                await self.limits.short(lambda: self.engine.commit(self.session))
            self.session.transaction = None
            if self._reads_epoch:
                self._reads_epoch = False
                self.session.properties.pop(VIEW_EPOCH, None)
        if tag == "ROLLBACK" and self.changed:
            text = "only changes of plain tables are rolled back: others took effect at once"
            remarks.append(Remark(text, "WARNING"))
            self.changed = False
        return tag, remarks

    async def _begin_epoch(self) -> None:
        epoch = await self.limits.short(lambda: self.engine.epoch(self.session))
        if epoch is not None and VIEW_EPOCH not in self.session.properties:
            self.session.properties[VIEW_EPOCH] = str(epoch)
            self._reads_epoch = True

    def close(self) -> None:
        self.cursors.close_all()


def _park(slot: Slot, results: Results) -> None:
    """Releases the thread while the client is slow; a result without a slot ends."""
    try:
        slot.park()
    except PgError:
        results.close()
        raise


def _when_ended(results: Working, release: Callable[[], None]) -> None:
    """Releases the slots when the thread has ended, possibly after the client has disconnected."""

    async def wait() -> None:
        try:
            await results.ended.wait()
        finally:
            release()

    task = asyncio.create_task(wait())
    _WAITING.add(task)
    task.add_done_callback(_WAITING.discard)


_WAITING: set[asyncio.Task[None]] = set()
