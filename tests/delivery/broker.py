"""A broker that is killed and comes back, behind a proxy that commits of transactions may not pass.

The proxy knows of Kafka's protocol that a request is its length in four bytes, then the number of
what is asked in two. (Kafka protocol guide, "Protocol Primitives" and "API Keys".)
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from awaiting import await_until

from streamsql.data_folder import DataDir
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.servers import HOST
from streamsql.kafka.broker_config import choose_ports, command, write_config
from streamsql.kafka.client import KafkaClient

START_SECONDS = 120.0
END_TXN = 26
_CHUNK = 1 << 16


class EndTxnProxy:
    """Passes everything on, but of requests to end a transaction some late, some not at all (the
    connection is lost before or after): `share` of them, once `fails` is set."""

    def __init__(self, share: float, seed: int) -> None:
        self.fails = False
        self.seen = self.failed = 0
        self.target = 0
        self._share = share
        self._dice = random.Random(seed)
        self._connections: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server((HOST, 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._loop.add_reader(self._listener, self._accept)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """All connections end."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._listener.close()

    async def _end(self) -> None:
        self._loop.remove_reader(self._listener)
        await _cancelled(*self._connections)

    def _accept(self) -> None:
        with suppress(BlockingIOError, ConnectionAbortedError):
            client, _ = self._listener.accept()
            client.setblocking(False)
            connection = self._loop.create_task(self._connected(client))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)
            # Not by the task itself: one that is cancelled before its first step never runs.
            connection.add_done_callback(lambda _: client.close())

    async def _connected(self, client: socket.socket) -> None:
        with socket.socket() as broker, suppress(OSError):
            broker.setblocking(False)
            await self._loop.sock_connect(broker, (HOST, self.target))
            both = [
                asyncio.ensure_future(self._pass_requests(client, broker)),
                asyncio.ensure_future(self._pass_on(broker, client)),
            ]
            try:
                ended, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for direction in ended:
                    direction.result()
            finally:
                await _cancelled(*both)

    async def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        while size := await self._exactly(client, 4):
            request = await self._exactly(client, int.from_bytes(size, "big"))
            ends = int.from_bytes(request[:2], "big") == END_TXN
            self.seen += ends
            if ends and self.fails and self._dice.random() < self._share:
                self.failed += 1
                match self._dice.choice(["lost", "answer lost", "late"]):
                    case "lost":
                        return
                    case "answer lost":
                        client.shutdown(socket.SHUT_RDWR)
                    case "late":
                        await asyncio.sleep(self._dice.uniform(0.1, 2.0))
            await self._loop.sock_sendall(broker, size + request)

    async def _exactly(self, source: socket.socket, size: int) -> bytes:
        """That many bytes, or none if the other side has closed the connection before."""
        read = bytearray()
        while len(read) < size:
            more = await self._loop.sock_recv(source, size - len(read))
            if not more:
                return b""
            read += more
        return bytes(read)

    async def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        while data := await self._loop.sock_recv(source, _CHUNK):
            await self._loop.sock_sendall(target, data)


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    """Returns when they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class KillableBroker:
    """The embedded broker's Kafka, whose clients all go through the proxy."""

    def __init__(self, folder: Path, proxy: EndTxnProxy) -> None:
        self._data = DataDir.at(folder)
        self._ports = choose_ports(None)
        self._proxy = proxy
        proxy.target = self._ports.client
        self._process: subprocess.Popen[bytes] | None = None
        self._data.kafka.mkdir(parents=True, exist_ok=True)
        self._data.logs.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        """Where clients find it: the proxy."""
        return f"{HOST}:{self._proxy.port}"

    def start(self) -> None:
        """Returns when it answers."""
        config = write_config(self._data, self._ports)
        advertised = f"\nadvertised.listeners=PLAINTEXT://{self.bootstrap}\n"
        config.write_text(config.read_text("latin-1") + advertised, "latin-1")
        self._process = subprocess.Popen(
            command(
                self._data, config, [*ensure_jars("kafka"), ensure_runtime_jar()], attached=True
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = KafkaClient(self.bootstrap)
        try:
            await_until(lambda: client.reachable(1.0), "the broker to answer", START_SECONDS)
        finally:
            client.close()

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None and self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()


@contextmanager
def killable_broker(folder: Path, proxy: EndTxnProxy) -> Iterator[KillableBroker]:
    """One that runs, and is killed in the end."""
    broker = KillableBroker(folder, proxy)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
