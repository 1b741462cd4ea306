"""Prepared queries from an event loop: asked over a socket of the JVM, awaited, no thread between.

The JVM's end is io.streamsql.serving.LookupServer, which says how both are written.
"""

from __future__ import annotations

import asyncio
import struct
import tempfile
from collections import deque
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES

CONNECTIONS = 2
"""Each is served by a thread of the JVM."""


_QUESTION = struct.Struct(">iq")
_NOT_NOW = 2


class Channel(asyncio.Protocol):
    """One connection; of one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[bytes | None]] = deque()
        self._unsent: list[bytes] = []
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended."""

    @property
    def open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def waiting(self) -> int:
        """How many questions are not answered yet."""
        return len(self._waiting)

    def ask(self, number: int, packed: bytes) -> asyncio.Future[bytes | None]:
        """The results of a registered query for what its Java class reads; None: it has to be
        executed in the usual way. ExternalError comes out of it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes | None] = loop.create_future()
        self._waiting.append(future)
        self._unsent += (_QUESTION.pack(8 + len(packed), number), packed)
        if len(self._waiting) == 1:
            self._send()
        elif len(self._unsent) == 2:
            # Others are asking, too: what they ask in the loop's same turn goes with it.
            loop.call_soon(self._send)
        return future

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self._transport is not None:
            self._transport.write(b"".join(unsent))

    def close(self) -> None:
        """Give the connection up; requests under way fail."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """asyncio's: a piece of the answers, each of which has its length before it."""
        received: bytes | bytearray = data
        if self._received:
            received = self._received
            received += data
        at, length = 0, len(received)
        while length - at >= 5:
            end = at + 4 + int.from_bytes(received[at : at + 4], "big")
            if length < end:
                break
            status, content = received[at + 4], bytes(received[at + 5 : end])
            at = end
            future = self._waiting.popleft()
            if future.done():
                continue  # its caller has stopped waiting
            if status == _NOT_NOW:
                future.set_result(None)
            elif status == 0:
                future.set_result(content)
            else:
                future.set_exception(_failed(content.decode()))
        self._received = bytearray(received[at:])

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's: requests under way fail."""
        self._transport = None
        if not self.lost.done():
            self.lost.set_result(None)
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(_failed(str(exc or "the connection has ended")))


class Channels:
    """The connections of one event loop to the JVM of one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        """Lets the JVM listen; ExternalError where it does not."""
        self.spark = spark
        self._folder = tempfile.TemporaryDirectory(prefix="streamsql-")
        self._path = str(Path(self._folder.name) / "lookups")
        try:
            self._server = Bridge.of(spark).listen(self._path)
        except JVM_FAILURES as error:
            raise _failed(str(error)) from error
        self._channels: list[Channel] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keepers: list[asyncio.Task[None]] = []
        """Per connection, the task whose end is its end, so none outlives its loop."""

    def choose(self) -> Channel | None:
        """The least busy connection; None while one is being opened."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._channels, self._keepers = loop, [], []
        if len(self._channels) < CONNECTIONS:
            self._keepers = [keeper for keeper in self._keepers if not keeper.done()]
            if len(self._keepers) < CONNECTIONS:
                self._keepers.append(loop.create_task(self._keep(self._channels)))
        found = [channel for channel in self._channels if channel.open]
        return min(found, key=lambda channel: channel.waiting) if found else None

    async def _keep(self, channels: list[Channel]) -> None:
        """Adds a connection to the channels until it or the loop ends."""
        try:
            loop = asyncio.get_running_loop()
            _, channel = await loop.create_unix_connection(Channel, self._path)
        except OSError:
            return  # the JVM is gone; lookups take another way
        channels.append(channel)
        try:
            await channel.lost
        finally:
            channels.remove(channel)
            channel.close()

    def close(self) -> None:
        """Stop listening, and end the connections."""
        loop, keepers = self._loop, self._keepers
        if loop is not None and loop.is_running():
            for keeper in keepers:
                loop.call_soon_threadsafe(keeper.cancel)
        try:
            self._server.close()
        except JVM_FAILURES:
            pass  # the JVM is gone
        self._folder.cleanup()


def _failed(reason: str) -> ExternalError:
    return ExternalError("the table cannot be read at present", retryable=True, detail=reason)
