"""The engine: runs SQL statements over Kafka and Spark. It only connects the layers: statements/
executes statements, executor/queries runs the queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from streamsql.api.script import PreparedStatement, Script, parse_script, statements_of
from streamsql.catalog import Catalog
from streamsql.config import EngineConfig
from streamsql.data_folder import Ownership
from streamsql.errors import ConfigError, ExternalError, ParseError, StreamSQLError, unexpected
from streamsql.executor.services.background import Report, Service
from streamsql.kafka.security import KNOWN as KAFKA_SETTINGS
from streamsql.kafka.security import checked as checked_kafka_settings
from streamsql.nodes import CreateSink, InsertValues, Statement
from streamsql.parser import to_sql
from streamsql.properties import AUTO_OFFSET_RESET
from streamsql.results import Answer, Message, Result, RowInserts
from streamsql.run_script import NamedText, file_of_server, run_script
from streamsql.runtime.catch_up import catch_up
from streamsql.session import Session
from streamsql.status import (
    QueryInfo,
    QueryMetrics,
    QueryState,
    Resources,
    StartupStatus,
    StartupStep,
    StepState,
    StoreInfo,
)

if TYPE_CHECKING:
    from streamsql.api.applying import Changes
    from streamsql.api.inspection import Inspection
    from streamsql.log.entries import StatementLog

__all__ = [
    "KAFKA_SETTINGS",
    "Catalog",
    "Engine",
    "EngineConfig",
    "PreparedStatement",
    "QueryInfo",
    "QueryState",
    "Script",
    "Session",
    "StartupStatus",
    "StartupStep",
    "StepState",
    "checked_kafka_settings",
]


CLOSE_SECONDS = 30.0
KILL_SECONDS = 60.0
"""Timeout of a close for Spark's JVM, which may hang."""
LEAD_SECONDS = 0.2


class Engine:
    """One engine on one data folder. Thread-safe."""

    def __init__(self, config: EngineConfig | None = None) -> None:
        from streamsql.runtime.state import EngineState

        self._config = config or EngineConfig()
        self._state = EngineState(self._config)
        self._restored: Service[StatementLog] = Service("statements", self._restore)
        self._state.restored = self._restored
        self._queries = Service("queries", self._start_queries)
        self._ownership: object | None = None
        self._open = False
        self._close_lock = threading.Lock()

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Acquires the data folder and starts Kafka and Spark in the background. Raises ConfigError
        if another engine owns the folder."""
        self._ownership = Ownership(self._state.data)
        self._open = True
        self._restored.start()
        self._state.services.start()
        self._queries.start()

    def startup(self) -> StartupStatus:
        services = self._state.services
        steps = (*services.steps, self._queries.step)
        errors = (
            service.error
            for service in (
                self._restored,
                services.jars,
                services.kafka,
                services.spark,
                self._queries,
            )
        )
        failover = self._state.failover
        lost = failover.failure if failover is not None else None
        return StartupStatus(steps, next((error for error in errors if error), lost))

    def wait_until_ready(self, timeout: float | None = None) -> None:
        """Waits until Kafka, Spark and the queries are up; raises the startup error."""
        self._queries.get(timeout)

    def close(self) -> None:
        """Stops all queries, Spark, and an embedded Kafka; the next start resumes them. Kills a JVM
        that does not stop in time."""
        with self._close_lock:
            if not self._open:
                return
            self._open = False
        state = self._state
        state.services.closing()
        late = threading.Timer(KILL_SECONDS, state.services.kill_spark)
        late.daemon = True
        late.start()
        self._restored.settle(CLOSE_SECONDS)
        try:
            state.pushes.close()
            if state.staged is not None:
                state.staged.discard()
            state.queries.close()
            if state.failover is not None:
                state.failover.close()
            state.watch.close()
            state.captures.close()
            state.sinks_of_all.close()
            state.serving.close()
            log = self._restored.peek()
            if log is not None:
                log.close()
            state.services.close()
        finally:
            late.cancel()
            if isinstance(self._ownership, Ownership):
                self._ownership.close()

    def __enter__(self) -> Engine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _restore(self, report: Report) -> StatementLog:
        from streamsql.runtime.restore import restore

        return restore(self._state)

    def _start_queries(self, report: Report) -> bool:
        """Runs once Kafka and Spark are there."""
        from streamsql.runtime.startup import start_queries

        self._restored.get()
        report("waiting for Kafka and Spark", None)
        start_queries(self._state)
        self._state.sinks_of_all.start(self._run_part, lambda: self.leads)
        report("", None)
        return True

    def _run_part(self, statement: CreateSink) -> None:
        """Creates a sink that belongs to a sink of all tables; it begins with the first record."""
        session = Session({**self._state.session.properties, AUTO_OFFSET_RESET: "earliest"})
        list(self._run(statement, to_sql(statement) + ";", session, ()))

    # -- statements ------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The engine's own session, whose SET and DEFINE values survive a restart."""
        return self._state.session

    def parse(self, sql: str, session: Session | None = None) -> Script:
        """Parses a text with the session's variables. Takes about a second per 100 kB, and works
        before startup has completed. `Script.error` is the error of an invalid statement."""
        return parse_script(sql, session or self._state.session)

    def execute(self, sql: str | Script, session: Session | None = None) -> Iterator[Result]:
        """Runs the statements of a text in order. Raises the StreamSQLError of the first failing
        statement, with its position."""
        yield from self._execute(sql, session or self._state.session, ())

    def lookup(self, sql: str | Script, session: Session | None = None) -> Answer | None:
        """The result of a single-key lookup in a served table, in less than a millisecond for a
        statement whose shape is known. None for other statements and during startup: use `execute`.
        Blocks if the session has a consistency token."""
        if not self._open or not self._queries.ready:
            return None
        text = sql.text if isinstance(sql, Script) else sql
        statement = None
        if isinstance(sql, Script) and len(sql.statements) == 1 and sql.error is None:
            statement = sql.statements[0].node
        try:
            return self._state.serving.lookup(text, statement, session or self._state.session)
        except StreamSQLError as error:
            raise error.located(text) from error.__cause__

    def lookup_soon(
        self, sql: str, session: Session | None = None
    ) -> Coroutine[object, object, Answer | None] | None:
        """As `lookup`, for an event loop: None instead of blocking, also as its result. Answers
        queries over few rows of tables, too, if they have been asked in the same words before."""
        if not self._open or not self._queries.ready:
            return None
        return self._state.serving.lookup_soon(sql, session or self._state.session)

    def each(
        self, sql: str | Script, session: Session | None = None
    ) -> Iterator[tuple[PreparedStatement, Iterator[Result]]]:
        """The results of a text's statements, each run when its result is consumed. Raises a
        ParseError at the position of an invalid statement."""
        for statement, results in self._each(sql, session or self._state.session, ()):
            yield PreparedStatement(statement), results

    def inserts(self, target: str, session: Session | None = None) -> RowInserts:
        """A writer of many rows into a stream or table."""
        from streamsql.runtime.state import Context
        from streamsql.statements.inserting.rows import RowInserts as Inserts

        self._check_usable()
        session = session or self._state.session
        return Inserts(target, Context(self._state, session, lambda path: ()))

    def commit(self, session: Session) -> None:
        """Ends the session's transaction and writes its records. ExternalError: none was
        written."""
        from streamsql.runtime.state import Context
        from streamsql.statements.tables.writing import commit

        self._check_usable()
        commit(Context(self._state, session, lambda path: ()))

    def epoch(self, session: Session | None = None) -> int | None:
        """The newest epoch of materialized views that all can be read as of, with what the session
        has written; None: there is none. ExternalError: a view cannot be read at present."""
        self._check_usable()
        return self._state.serving.epoch((session or self.session).properties)

    def _check_usable(self) -> None:
        if not self._open:
            raise ConfigError("the engine is not running")
        if not self._config.interactive:
            raise ConfigError(
                "interactive statements are disabled",
                hint="This server runs the statements of a file.",
            )
        self._restored.get()

    def run_files(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        whole: bool = False,
    ) -> Iterator[Result]:
        """Runs the statements of files that have not been run before. Raises the StreamSQLError of
        an invalid or changed statement before running any. `variables` override those of the
        engine's session. `whole`: the files contain definitions only and define the whole catalog;
        they run once this engine is the leader."""
        from streamsql.runtime.state import Context
        from streamsql.statements.files.resume import left_in
        from streamsql.statements.inserting.values import note_row

        log, state = self._restored.get(), self._state
        if state.failover is not None and not whole:
            state.failover.check_leads()
        while not self.leads:
            if not self._open:
                return
            time.sleep(LEAD_SECONDS)
        left = left_in(state, log, texts, variables or {}, whole=whole)
        if left.remark:
            yield Message(left.remark)
        for line in left.to_run(state.session):
            try:
                yield from self._run(line.statement, line.script.sql, state.session, ())
            except StreamSQLError as error:
                error.file = line.script.name
                raise
            if isinstance(line.statement, InsertValues):
                note_row(line.statement, Context(state, state.session, lambda path: ()))

    @property
    def changes(self) -> Changes:
        """Plans, applies and undoes changes from pipeline files."""
        from streamsql.api.applying import Changes

        self._check_usable()
        return Changes(self._state)

    def _execute(
        self, sql: str | Script, session: Session, scripts: tuple[str, ...]
    ) -> Iterator[Result]:
        for _, results in self._each(sql, session, scripts):
            yield from results

    def _each(
        self, sql: str | Script, session: Session, scripts: tuple[str, ...]
    ) -> Iterator[tuple[Statement, Iterator[Result]]]:
        """`scripts` are the running scripts, the innermost last."""
        self._check_usable()
        text = sql.text if isinstance(sql, Script) else sql
        for statement in statements_of(sql, session):
            if isinstance(statement, ParseError):
                raise statement.located(text)
            yield statement, self._run(statement, text, session, scripts)

    def _run(
        self, statement: Statement, sql: str, session: Session, scripts: tuple[str, ...]
    ) -> Iterator[Result]:
        from streamsql.runtime.state import Context
        from streamsql.statements import execute

        context = Context(self._state, session, lambda path: self._script(path, session, scripts))
        try:
            yield from execute(statement, context)
        except StreamSQLError as error:
            raise error.located(sql) from error.__cause__
        except Exception as error:
            if self._config.debug:
                raise
            raise unexpected("the statement failed", error).located(sql) from error

    def _script(self, path: str, session: Session, scripts: tuple[str, ...]) -> Iterator[Result]:
        if session.remote:
            raise file_of_server(path)
        yield from run_script(path, scripts, lambda text, own: self._execute(text, session, own))

    # -- one of several servers ------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Whether this engine runs the persistent queries and catalog changes: always true without
        `service_id`."""
        failover = self._state.failover
        return failover.leads if failover is not None else self._state.config.service_id is None

    @property
    def leader_url(self) -> str | None:
        failover = self._state.failover
        return failover.leader_url if failover is not None else None

    def needs_leader(self, script: Script) -> bool:
        """Whether only the leader can run one of these statements."""
        from streamsql.statements import needs_leader

        return any(needs_leader(each.node, self._state) for each in script.statements)

    def sync(self, timeout: float = 10.0) -> bool:
        """Waits until the catalog includes all statements that any server of the service has
        acknowledged so far. Returns False on timeout."""
        failover = self._state.failover
        return failover.sync(timeout) if failover is not None else True

    # -- inspection --------------------------------------------------------------------------------

    def catalog(self) -> Catalog:
        """An immutable snapshot of the catalog."""
        return self._state.catalog

    def queries(self) -> list[QueryInfo]:
        return [*self._state.queries.infos(), *self._state.pushes.infos()]

    @property
    def inspection(self) -> Inspection:
        from streamsql.api.inspection import Inspection

        return Inspection(self._state)

    def query_metrics(self) -> dict[str, QueryMetrics]:
        return self._state.query_metrics()

    @property
    def sizes(self) -> str:
        """The available resources in one line."""
        return self._state.sizes.text()

    def resources(self) -> Resources:
        return self._state.resources()

    def stores(self) -> list[StoreInfo]:
        return self._state.serving.infos()

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Runs all persistent queries over the current contents of their topics, upstream queries
        first. `progress` is called with processed and known records. Raises ExternalError if a
        query fails permanently."""
        if not self._open:
            raise ExternalError("the engine is not running")
        self.wait_until_ready()
        catch_up(self._state, progress)
