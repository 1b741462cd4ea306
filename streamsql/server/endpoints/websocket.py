"""GET /ws/query: a query over a WebSocket. The first frame is the schema, the others are rows, and
the progress of views where the session requests it."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from streamsql.errors import StreamSQLError
from streamsql.results import Answer, LineStream, Progress, Row, RowStream
from streamsql.schema import Schema
from streamsql.server.endpoints.queries import Asked, QueryRefused
from streamsql.server.endpoints.query_stream import schema_of
from streamsql.server.http.errors import Failure, RequestError, failure
from streamsql.server.http.requests import SEVERAL_REQUESTS, StatementRequest, parse_json, too_large
from streamsql.server.rows.feed import Feed
from streamsql.server.rows.json_values import RowWriter, json_text
from streamsql.server.rows.streamed_rows import progress_text
from streamsql.server.state.server_state import ServerState
from streamsql.types import to_sql

_log = logging.getLogger("streamsql.server")
NORMAL, UNSUPPORTED_DATA, INTERNAL = 1000, 1003, 1011
_CLOSE_BYTES = 120
"""Slightly less than the capacity of a close frame."""


async def ws_query(socket: WebSocket) -> None:
    """The endpoint. An error is a frame and ends the connection."""
    await socket.accept()
    state: ServerState = socket.app.state.server
    try:
        text = socket.query_params.get("request", "").encode()
        if len(text) > state.config.max_statement_bytes:
            raise too_large(state.config.max_statement_bytes, SEVERAL_REQUESTS)
        given = StatementRequest.of(parse_json(text))
        asked = Asked(state, socket.scope, given.sql, state.session(given))
        await state.run(asked.script)
        state.running.reserve()
        try:
            await _answer(socket, state, partial(asked.first, Answer | RowStream | LineStream))
        finally:
            state.running.release()
    except QueryRefused as refused:
        await _fail(socket, refused.failure)
    except (RequestError, StreamSQLError) as error:
        await _fail(socket, failure(error))
    except WebSocketDisconnect:
        pass
    except Exception as error:
        _log.error("a query over a WebSocket failed", exc_info=error)
        await _fail(socket, failure(error))


async def _answer(socket: WebSocket, state: ServerState, work: Any) -> None:
    result: Answer | RowStream | LineStream = await state.run(work)
    if isinstance(result, LineStream):
        feed: Feed[Any] = Feed(result.lines, result.cancel, state.config.push_buffer_rows)
        write = str
    else:
        schema = result.schema if isinstance(result, Answer) else schema_of(result)
        await socket.send_text(json_text(_columns(schema)))
        cancel = result.cancel if isinstance(result, RowStream) else _nothing
        feed = Feed(iter(result.rows), cancel, state.config.push_buffer_rows)
        write = _row_writer(schema)
    name = state.running.add(getattr(result, "query_id", None), feed)
    gone = asyncio.create_task(_disconnected(socket))
    sending = asyncio.create_task(_send(socket, feed, write))
    try:
        await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        feed.close()
        state.running.remove(name)
        # Closing would otherwise wait for a receiver.
        ended = sending.done()
        for task in (gone, sending):
            task.cancel()
        await asyncio.gather(gone, sending, return_exceptions=True)
    if ended:
        sending.result()
        await socket.close(NORMAL, "done")


def _nothing() -> None:
    pass


async def _send(socket: WebSocket, feed: Feed[Any], write: Any) -> None:
    feed.start()
    while items := await feed.take():
        for item in items:
            await socket.send_text(write(item))


async def _disconnected(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _row_writer(schema: Schema) -> Any:
    cells = RowWriter(column.type for column in schema)

    def write(row: Row | Progress) -> str:
        if isinstance(row, Progress):
            return progress_text(row)
        tombstone = ',"tombstone":true' if row.tombstone else ""
        return f'{{"row":{{"columns":{cells(row.values)}{tombstone}}}}}'

    return write


def _columns(schema: Schema) -> list[dict[str, Any]]:
    return [{"name": column.name, "schema": {"type": to_sql(column.type)}} for column in schema]


async def _fail(socket: WebSocket, problem: Failure) -> None:
    await socket.send_text(json.dumps({"error": problem.body}))
    reason = problem.message.encode()[:_CLOSE_BYTES].decode("utf-8", "ignore")
    await socket.close(INTERNAL if problem.status >= 500 else UNSUPPORTED_DATA, reason)


ROUTES = [WebSocketRoute("/ws/query", ws_query)]
