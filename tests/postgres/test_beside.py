"""PostgreSQL's port beside HTTP's, on one event loop: both come and go together."""

from __future__ import annotations

import asyncio
import socket
import struct
from pathlib import Path

import pytest
from client.servers import WatchedEngine
from ports import free_port

from streamsql.errors import ExternalError
from streamsql.postgres.listener import Listener
from streamsql.postgres.relations.system import system
from streamsql.postgres.settings import PostgresConfig
from streamsql.server.run import serve
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState


def test_both_ports(tmp_path: Path) -> None:
    engine = WatchedEngine(tmp_path)
    listener = Listener(engine, PostgresConfig(port=0), system(engine))

    async def main() -> bytes:
        stop = asyncio.Event()
        state = ServerState(engine, ServerConfig(port=free_port()))
        serving = asyncio.create_task(serve(state, stop=stop, beside=listener))
        while not listener.listens:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        body = struct.pack("!I", 0x30000) + b"user\0ann\0\0"
        writer.write(struct.pack("!i", len(body) + 4) + body)
        await reader.readuntil(b"Z\0\0\0\x05I")
        stop.set()
        ended = await reader.read()
        writer.close()
        await serving
        return ended

    assert b"C57P01" in asyncio.run(main())
    engine.offline.close()


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    engine = WatchedEngine(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = PostgresConfig(port=taken.getsockname()[1])
        listener = Listener(engine, config, system(engine))
        with pytest.raises(ExternalError, match="cannot listen on 127.0.0.1"):
            asyncio.run(listener.start())
    engine.offline.close()
