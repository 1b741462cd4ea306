"""POST /query, /query-stream and /close-query: one SELECT or PRINT, answered with rows.

With EMIT the rows come for as long as the client looks (query_stream.py); without, the answer is
complete (answers.py). What a statement is, only the parser and the engine know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql import nodes
from streamsql.errors import StreamSQLError
from streamsql.ksqldb import says
from streamsql.parser import parse
from streamsql.results import Answer, LineStream, RowStream
from streamsql.server.endpoints.query_stream import LineStreamResponse, RowStreamResponse, schema_of
from streamsql.server.http.errors import BAD_REQUEST, BAD_STATEMENT, STATEMENT, Failure, failure
from streamsql.server.http.media import (
    DELIMITED,
    JSON,
    KSQL_JSON,
    PROTOBUF,
    accepted,
    check_content_type,
)
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.rows.answers import AnswerResponse, AnswerWriter, Piece
from streamsql.server.rows.streamed_rows import FORMS
from streamsql.server.state.server_state import ServerState, state_of, statement_request
from streamsql.session import Session

QUERY_FORMS = (KSQL_JSON, JSON, DELIMITED, PROTOBUF)
STREAM_FORMS = (DELIMITED, JSON, KSQL_JSON, PROTOBUF)
_EMIT = re.compile(r"\bEMIT\b", re.IGNORECASE)


async def query(request: Request) -> Response:
    """POST /query: JSON means ksqlDB's own rows here."""
    media = accepted(request, QUERY_FORMS)
    return await _answer(request, KSQL_JSON if media == JSON else media)


async def query_stream(request: Request) -> Response:
    """POST /query-stream."""
    return await _answer(request, accepted(request, STREAM_FORMS))


async def _answer(request: Request, media: str) -> Response:
    check_content_type(request)
    state = state_of(request)
    given = await statement_request(request)
    session = state.session(given)
    if (response := await _looked_up(state, given.sql, session, media)) is not None:
        return response
    problem = check(given.sql, session)
    if isinstance(problem, Failure):
        return problem.response()
    if not problem:
        return await _pull(state, given.sql, session, media)
    state.running.reserve()
    try:
        response = await _push(state, given.sql, session, media)
    except BaseException:
        state.running.release()
        raise
    if not isinstance(response, RowStreamResponse | LineStreamResponse):
        state.running.release()
    return response


def check(sql: str, session: Session) -> Failure | bool:
    """Whether the text is one SELECT or PRINT whose rows come for as long as one looks; a Failure
    if it is something else."""
    try:
        statements = parse(sql, session.substituted)
    except StreamSQLError as error:
        return failure(error, sql.strip())
    if len(statements) != 1:
        found = len(statements)
        return Failure(BAD_REQUEST, f"Expected exactly one KSQL statement; found {found} instead")
    statement = statements[0]
    if isinstance(statement, nodes.Print):
        return True
    if isinstance(statement, nodes.SelectQuery):
        return statement.query.emit is not None
    known = says("statement-type", type=type(statement).__name__)
    message = (
        "Only SELECT and PRINT are answered here; other statements belong to the endpoint /ksql.\n"
        + known.text()
    )
    return Failure(BAD_STATEMENT, message, STATEMENT, {"statementText": sql, "entities": []})


async def _looked_up(state: ServerState, sql: str, session: Session, media: str) -> Response | None:
    """The answer of a plain lookup of a key: nothing of it is parsed or planned."""
    if _EMIT.search(sql):
        return None

    def work() -> tuple[AnswerWriter, Piece] | None:
        answer = state.engine.lookup(sql, session)
        return None if answer is None else _begun(answer, media)

    try:
        if (soon := state.engine.lookup_soon(sql, session)) is not None:
            return AnswerResponse(*_begun(await soon, media), state)
        found = await state.run(work)
    except StreamSQLError as error:
        return failure(error, sql).response()
    return None if found is None else AnswerResponse(*found, state)


def _begun(answer: Answer, media: str) -> tuple[AnswerWriter, Piece]:
    writer = AnswerWriter(answer, FORMS[media](answer.query_id, answer.schema, False))
    return writer, writer.first()


async def _pull(state: ServerState, sql: str, session: Session, media: str) -> Response:
    def work() -> tuple[AnswerWriter, Piece]:
        return _begun(first_result(state, sql, session, Answer), media)

    try:
        writer, first = await state.run(work)
    except StreamSQLError as error:
        return failure(error, sql).response()
    return AnswerResponse(writer, first, state)


async def _push(state: ServerState, sql: str, session: Session, media: str) -> Response:
    def work() -> RowStream | LineStream:
        found = first_result(state, sql, session, RowStream | LineStream)
        assert isinstance(found, RowStream | LineStream)
        return found

    bound = state.config.push_buffer_rows
    try:
        stream = await state.run(work)
        if isinstance(stream, LineStream):
            return LineStreamResponse(stream, state.running, bound)
        try:
            form = FORMS[media](stream.query_id, schema_of(stream), True)
        except StreamSQLError:
            stream.cancel()
            raise
        return RowStreamResponse(stream, form, state.running, bound)
    except StreamSQLError as error:
        return failure(error, sql).response()


def first_result(state: ServerState, sql: str, session: Session, kind: Any) -> Any:
    """The result that has the rows; remarks before it have no place in these answers."""
    for result in state.engine.execute(sql, session):
        if isinstance(result, kind):
            return result
    raise AssertionError("a query gave no rows")


async def close_query(request: Request) -> Response:
    """POST /close-query: end a push query of any client."""
    check_content_type(request)
    state = state_of(request)
    body = parse_json(await read_body(request, state.config.max_request_bytes))
    query_id = as_object(body, "the request").get("queryId")
    if not isinstance(query_id, str):
        return Failure(BAD_REQUEST, 'the request gives no "queryId"').response()
    if not state.running.close(query_id):
        return Failure(BAD_REQUEST, f"No query with id {query_id}").response()
    return JSONResponse({})


ROUTES: Sequence[Route] = [
    Route("/query", query, methods=["POST"]),
    Route("/query-stream", query_stream, methods=["POST"]),
    Route("/close-query", close_query, methods=["POST"]),
]
