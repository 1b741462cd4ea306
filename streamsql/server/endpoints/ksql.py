"""POST /ksql: one entity per statement.

All statements are parsed before the first one runs, so an invalid text has no effect. They then run
in order; the first failure ends the request, and its error contains the entities of the previous
statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.api.inspection import Inspection
from streamsql.engine import PreparedStatement, Script
from streamsql.errors import CatalogError, ConfigError, StreamSQLError, told
from streamsql.ksqldb import says
from streamsql.results import Result
from streamsql.server.entities import Executed, entity, statement_text
from streamsql.server.entities.commands import command_id
from streamsql.server.http.errors import (
    ASSERTION_FAILED,
    BAD_STATEMENT,
    COMMAND_QUEUE_TIMEOUT,
    QUERY_ENDPOINT,
    STATEMENT,
    Failure,
    RequestError,
    failure,
)
from streamsql.server.http.media import JSON, KSQL_JSON, accepted, check_content_type
from streamsql.server.http.requests import StatementRequest
from streamsql.server.state.command_statuses import CommandStatus, CommandStatuses
from streamsql.server.state.server_state import TOKEN_HEADER, state_of, statement_request
from streamsql.session import Session
from streamsql.tokens import from_token, to_token
from streamsql.waiting import await_condition

CATCH_UP_SECONDS = 5.0
"""How long a request waits for its preceding command."""
LOOK_SECONDS = 0.02


class StatementFailed(Exception):
    """A failed statement of a request, with its response."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


async def ksql(request: Request) -> Response:
    media = accepted(request, (KSQL_JSON, JSON))
    check_content_type(request)
    state = state_of(request)
    given = await statement_request(request)
    session = state.session(given)

    statements = Statements(state.engine, session, state.commands)

    def work() -> list[dict[str, Any]]:
        await_command(state.engine, given)
        return statements.run(state.script(request.scope, given.sql, session))

    try:
        entities = await state.run(work)
        headers = {TOKEN_HEADER: statements.token} if statements.tokens else {}
        return JSONResponse(entities, headers=headers, media_type=media)
    except StatementFailed as failed:
        return failed.failure.response()


class Runner(Protocol):
    """The required part of Engine."""

    def each(
        self, sql: Script, session: Session | None = None
    ) -> Iterator[tuple[PreparedStatement, Iterator[Result]]]:
        """Yields statements with their results as they are requested."""

    @property
    def inspection(self) -> Inspection: ...


def await_command(
    engine: Runner, request: StatementRequest, timeout: float = CATCH_UP_SECONDS
) -> None:
    """Waits for the preceding command; RequestError on timeout."""
    if request.sequence is None:
        return
    wanted = request.sequence
    if not await_condition(
        lambda: engine.inspection.sequence >= wanted, timeout, every=LOOK_SECONDS
    ):
        raise RequestError(
            COMMAND_QUEUE_TIMEOUT,
            "Timed out while waiting for a previous command to execute. command sequence "
            f"number: {wanted}",
        )


@dataclass
class Statements:
    """Statements of a request in its session."""

    engine: Runner
    session: Session
    commands: CommandStatuses
    entities: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    """Consistency tokens of their writes."""

    @property
    def token(self) -> str:
        return to_token(from_token(",".join(self.tokens)))

    def run(self, script: Script) -> list[dict[str, Any]]:
        """Runs the statements; returns their entities. Raises StatementFailed for the first
        failure."""
        check(script)
        for statement, results in self.engine.each(script, self.session):
            text = statement_text(statement)
            try:
                executed = Executed(statement, list(results), self.session, self.engine.inspection)
                found = entity(executed)
            except StreamSQLError as error:
                raise StatementFailed(self._failure(error, statement, text)) from error
            if found is not None:
                self.entities.append(found)
            self.tokens += executed.tokens
            self._remember(statement, executed)
        return self.entities

    def _failure(self, error: StreamSQLError, statement: PreparedStatement, text: str) -> Failure:
        found = failure(error, text, self.entities)
        asserts = statement.kind in ("AssertTopic", "AssertSchema")
        if asserts and isinstance(error, CatalogError):
            return Failure(ASSERTION_FAILED, told(error), STATEMENT, found.more)
        return found

    def _remember(self, statement: PreparedStatement, executed: Executed) -> None:
        id = command_id(statement)
        if id is not None and executed.message:
            status = CommandStatus("SUCCESS", executed.message, executed.query_id)
            self.commands.put(id, status)


def check(script: Script) -> None:
    """Raises StatementFailed for an invalid text, and for statements of other endpoints."""
    if script.error is not None:
        raise StatementFailed(failure(script.error, script.wrong))
    if not script.statements:
        raise StatementFailed(failure(ConfigError("the request has no statement"), script.text))
    for statement in script.statements:
        problem = _misplaced(statement)
        if problem is not None:
            code, message = problem
            more = {"statementText": statement_text(statement), "entities": []}
            raise StatementFailed(Failure(code, message, STATEMENT, more))


def _misplaced(statement: PreparedStatement) -> tuple[int, str] | None:
    """Error code and message for a statement of another endpoint."""
    if statement.is_query:
        kind = "PRINT" if statement.kind == "Print" else "SELECT"
        return (
            QUERY_ENDPOINT,
            f"{kind} is answered by the endpoints '/query' and '/query-stream', not by '/ksql'\n"
            + says("query-endpoint").text(),
        )
    if statement.kind == "RunScript":
        known = says("unknown-statement", token="RUN").text(statement=statement_text(statement))
        message = f"Unknown statement 'RUN': a client sends the script's statements\n{known}"
        return BAD_STATEMENT, message
    return None


ROUTES = [Route("/ksql", ksql, methods=["POST"])]
