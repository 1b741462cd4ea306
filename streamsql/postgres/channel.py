"""A connection as messages: framing with limits, TLS, writing with backpressure."""

from __future__ import annotations

import asyncio
import ssl

from streamsql.postgres.wire.messages import (
    First,
    Message,
    ProtocolError,
    body_length,
    first_message,
    message_of,
    startup_length,
)

BUFFER = 64 * 1024
SLOW_SECONDS = 1.0
_LONG = frozenset(b"Bdp")
"""Types of messages with values; others have statements or names."""


class Gone(Exception):
    """The client has disconnected."""


class Channel:
    """Reads messages, and buffers responses until they are flushed."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        max_statement: int,
        max_message: int,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._max_statement = max_statement
        self._max_message = max_message
        self._out = bytearray()
        self.tls = False

    @property
    def address(self) -> str:
        peer = self._writer.get_extra_info("peername")
        return str(peer[0]) if peer else "unknown"

    @property
    def gone(self) -> bool:
        """Whether the client has closed the connection."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def first(self) -> First:
        """The first message, or one that replaces it."""
        length = startup_length(await self._exactly(4))
        return first_message(await self._exactly(length))

    async def read(self) -> Message:
        head = await self._exactly(5)
        bound = self._max_message if head[0] in _LONG else self._max_statement
        return message_of(head[:1], await self._exactly(body_length(head, bound)))

    async def _exactly(self, count: int) -> bytes:
        try:
            return await self._reader.readexactly(count)
        except (asyncio.IncompleteReadError, OSError):
            raise Gone from None

    async def encrypt(self, context: ssl.SSLContext | None) -> None:
        """Accepts or refuses TLS, and starts it."""
        self._writer.write(b"N" if context is None else b"S")
        await self._drain()
        if context is None:
            return
        try:
            # Bytes received before were not encrypted.
            if getattr(self._reader, "_buffer", b""):
                raise ProtocolError("received unencrypted data after SSL request")
            await self._writer.start_tls(context)
        except (OSError, ssl.SSLError):
            raise Gone from None
        self.tls = True

    def write(self, data: bytes) -> None:
        """Buffers output for the next flush."""
        self._out += data

    async def say(self, data: bytes) -> None:
        """Sends output at once."""
        self.write(data)
        await self.flush()

    @property
    def full(self) -> bool:
        """Whether the buffer should be flushed."""
        return len(self._out) >= BUFFER

    async def flush(self) -> None:
        """Sends the buffer; returns once the client has received most of it."""
        if self._out:
            self._writer.write(bytes(self._out))
            self._out.clear()
        await self._drain()

    async def is_slow(self) -> bool:
        """Sends the buffer; returns whether the client is slow. Then sending continues: `flush`
        waits for it."""
        if self._out:
            self._writer.write(bytes(self._out))
            self._out.clear()
        try:
            # Not wait_for, which may swallow a cancellation.
            async with asyncio.timeout(SLOW_SECONDS):
                await self._drain()
        except TimeoutError:
            return True
        return False

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            raise Gone from None

    async def close(self) -> None:
        """Sends the buffer without waiting, and closes."""
        try:
            if self._out:
                self._writer.write(bytes(self._out))
                self._out.clear()
            self._writer.close()
            await asyncio.wait_for(self._writer.wait_closed(), SLOW_SECONDS)
        except (OSError, TimeoutError, ssl.SSLError):
            self._writer.transport.abort()
