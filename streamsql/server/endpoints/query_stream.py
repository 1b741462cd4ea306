"""Responses of push queries and PRINT."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streamsql.results import LineStream, Progress, Row, RowStream
from streamsql.schema import Column, Schema
from streamsql.server.http.errors import failure
from streamsql.server.rows.feed import Feed
from streamsql.server.rows.json_values import json_text
from streamsql.server.rows.streamed_rows import Form
from streamsql.server.state.running_queries import RunningQueries

_log = logging.getLogger("streamsql.server")


def schema_of(stream: RowStream) -> Schema:
    """Columns of a push query, without key markers."""
    return Schema(
        tuple(Column(field.name, field.type) for field in stream.fields if field.type is not None)
    )


class StreamResponse(Response):
    """Starts immediately, sends available rows, and ends with the query or the connection. A slow
    client blocks the query's reader: see feed.py."""

    def __init__(self, running: RunningQueries, bound: int, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._running = running
        self._bound = bound

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        feed, name = self._begin()
        # The request was read before; the next message is the disconnect.
        gone = asyncio.create_task(_disconnected(receive))
        sending = asyncio.create_task(self._send(send, feed))
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            feed.close()
            self._running.remove(name)
            self._running.release()
            for task in (gone, sending):
                task.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    def _begin(self) -> tuple[Feed[Row | Progress] | Feed[str], str]:
        raise NotImplementedError

    async def _send(self, send: Send, feed: Feed[Row | Progress] | Feed[str]) -> None:
        headers = [*self.raw_headers, (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        # Sends the headers immediately, since the first row can take long.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await self._send_parts(send, feed)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_parts(self, send: Send, feed: Feed[Row | Progress] | Feed[str]) -> None:
        raise NotImplementedError


class RowStreamResponse(StreamResponse):
    """Rows of a push query in one of the forms."""

    def __init__(self, stream: RowStream, form: Form, running: RunningQueries, bound: int) -> None:
        super().__init__(running, bound, form.media_type)
        self._stream = stream
        self._form = form

    def _begin(self) -> tuple[Feed[Row | Progress] | Feed[str], str]:
        stream = self._stream
        feed = Feed(stream.rows, stream.cancel, self._bound)
        return feed, self._running.add(stream.query_id, feed)

    async def _send_parts(self, send: Send, feed: Feed[Row | Progress] | Feed[str]) -> None:
        form = self._form
        await send_text(send, form.head())
        feed.start()
        try:
            while rows := await feed.take():
                texts = [_text_of(row, form) for row in rows]
                for text in texts if form.row_by_row else ["".join(texts)]:
                    await send_text(send, text)
        except Exception as error:
            _log.warning("query %s failed: %s", self._stream.query_id, error)
            await send_text(send, form.failed(failure(error)))
        else:
            await send_text(send, form.end(self._stream.final_message))


class LineStreamResponse(StreamResponse):
    """Lines of PRINT as text; an error is a line of JSON."""

    def __init__(self, stream: LineStream, running: RunningQueries, bound: int) -> None:
        super().__init__(running, bound, "text/plain")
        self._stream = stream

    def _begin(self) -> tuple[Feed[Row | Progress] | Feed[str], str]:
        feed = Feed(self._stream.lines, self._stream.cancel, self._bound)
        return feed, self._running.add(None, feed)

    async def _send_parts(self, send: Send, feed: Feed[Row | Progress] | Feed[str]) -> None:
        feed.start()
        try:
            while lines := await feed.take():
                await send_text(send, _joined(lines))
        except Exception as error:
            _log.warning("PRINT failed: %s", error)
            await send_text(send, json_text(failure(error).body) + "\n")


def _text_of(row: object, form: Form) -> str:
    if isinstance(row, Progress):
        return form.progress(row)
    assert isinstance(row, Row)
    return form.row(row)


def _joined(lines: Sequence[object]) -> str:
    return "".join(f"{line}\n" for line in lines)


async def send_text(send: Send, text: str) -> None:
    """Sends a part of a response body."""
    if text:
        body = text.encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
