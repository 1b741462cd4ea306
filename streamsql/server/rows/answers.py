"""Complete results of pull queries. A short result is sent in one piece; a long one in pieces, each
produced in a thread after the client has taken the previous one, so that memory is bounded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streamsql.results import Answer, Row
from streamsql.server.http.errors import failure
from streamsql.server.rows.streamed_rows import Form
from streamsql.server.state.server_state import EPOCH_HEADER, ServerState

_log = logging.getLogger("streamsql.server")
PIECE_CHARACTERS = 64 * 1024


@dataclass(frozen=True)
class Piece:
    """Texts that are sent in order; `last`: the final piece."""

    texts: list[str]
    last: bool


class AnswerWriter:
    """Produces the text of a response. Blocks, so it runs in a thread."""

    def __init__(self, answer: Answer, form: Form) -> None:
        self._answer = answer
        self.form = form
        self._rows: Iterator[Row] = iter(answer.rows)

    @property
    def headers(self) -> dict[str, str]:
        """Of the response, beside those of its form."""
        epoch = self._answer.epoch
        return {} if epoch is None else {EPOCH_HEADER: str(epoch)}

    def first(self) -> Piece:
        """The first piece; raises errors of the query."""
        return self._piece([self.form.head()])

    def next(self) -> Piece:
        """The next piece; errors are part of the response."""
        try:
            return self._piece([])
        except Exception as error:
            _log.warning("query %s failed: %s", self._answer.query_id, error)
            return Piece([self.form.failed(failure(error))], last=True)

    def _piece(self, texts: list[str]) -> Piece:
        size = 0
        for row in self._rows:
            text = self.form.row(row)
            texts.append(text)
            size += len(text)
            if size >= PIECE_CHARACTERS:
                return Piece(texts, last=False)
        texts.append(self.form.end(self._answer.final_message))
        return Piece(texts, last=True)

    def close(self) -> None:
        close = getattr(self._rows, "close", None)
        if callable(close):
            close()


class AnswerResponse(Response):
    """Sends the pieces; ends early if the client disconnects."""

    def __init__(self, writer: AnswerWriter, first: Piece, state: ServerState) -> None:
        super().__init__(headers=writer.headers, media_type=writer.form.media_type)
        self._writer = writer
        self._first = first
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = self._first.last
        # HTTP/2 clients may treat each frame of this form as a row.
        apart = self._writer.form.row_by_row and scope.get("http_version", "1.1")[:1] == "2"
        if whole and not apart:
            await self._send_whole(send, "".join(self._first.texts).encode())
            return
        del self.headers["content-length"]
        await send(self._start())
        await _until_gone(receive, self._send_all(send, apart))

    async def _send_whole(self, send: Send, body: bytes) -> None:
        # HTTP/1.1 clients may expect this form in chunks, as ksqlDB sends it.
        chunked = self._writer.form.row_by_row
        if chunked:
            del self.headers["content-length"]
        else:
            self.headers["content-length"] = str(len(body))
        await send(self._start())
        await send({"type": "http.response.body", "body": body, "more_body": chunked})
        if chunked:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _start(self) -> dict[str, object]:
        return {"type": "http.response.start", "status": 200, "headers": self.raw_headers}

    async def _send_all(self, send: Send, apart: bool) -> None:
        piece = self._first
        try:
            while True:
                for text in piece.texts if apart else ["".join(piece.texts)]:
                    body = text.encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                if piece.last:
                    break
                piece = await self._state.run(self._writer.next, begun=True)
        finally:
            if not piece.last:
                await asyncio.shield(self._state.run(self._writer.close, begun=True))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, work: Coroutine[object, object, None]) -> None:
    """Runs work, and aborts it if the client disconnects."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    watching = asyncio.create_task(gone())
    working = asyncio.create_task(work)
    try:
        await asyncio.wait({watching, working}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (watching, working):
            task.cancel()
        await asyncio.gather(watching, working, return_exceptions=True)
