"""A broker that is killed and comes back, behind a proxy that commits of transactions may not pass.

The proxy knows of Kafka's protocol that a request is its length in four bytes, then the number of
what is asked in two. (Kafka protocol guide, "Protocol Primitives" and "API Keys".)
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from awaiting import await_until

from streamsql.data_folder import DataDir
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.kafka.broker_config import HOST, choose_ports, command, write_config
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
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._connected, HOST, 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """All connections end."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        connected = asyncio.all_tasks() - {asyncio.current_task()}
        for task in connected:
            task.cancel()
        await asyncio.gather(*connected, return_exceptions=True)

    async def _connected(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            broker, requests = await asyncio.open_connection(HOST, self.target)
            both = {
                asyncio.ensure_future(self._pass_requests(client, requests, answers)),
                asyncio.ensure_future(_pass_on(broker, answers)),
            }
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in both:
                    task.cancel()
                requests.close()
                answers.close()
        answers.close()

    async def _pass_requests(
        self,
        client: asyncio.StreamReader,
        requests: asyncio.StreamWriter,
        answers: asyncio.StreamWriter,
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await client.readexactly(4)
                request = await client.readexactly(int.from_bytes(size, "big"))
                ends = int.from_bytes(request[:2], "big") == END_TXN
                self.seen += ends
                if ends and self.fails and self._dice.random() < self._share:
                    self.failed += 1
                    match self._dice.choice(["lost", "answer lost", "late"]):
                        case "lost":
                            return
                        case "answer lost":
                            answers.close()
                        case "late":
                            await asyncio.sleep(self._dice.uniform(0.1, 2.0))
                requests.write(size + request)
                await requests.drain()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()


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
