"""The embedded Connect worker: started when a connector is first used, restarted when it has ended,
stopped with its engine. What it is configured with is config.py's business."""

from __future__ import annotations

import json
import logging
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from streamsql.connectors.client import ConnectClient, Connector, Flow
from streamsql.connectors.embedded import plugins
from streamsql.connectors.embedded.config import (
    MAIN_CLASS,
    SOURCE_DEFAULTS,
    Endpoint,
    command,
    marker,
    write_config,
)
from streamsql.connectors.embedded.restarts import Failures, Restarts
from streamsql.data_folder import DataDir
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.java import inherited_environment
from streamsql.jvm.lock import Group
from streamsql.jvm.servers import free_ports, last_errors, stop
from streamsql.waiting import Backoff, await_condition

_log = logging.getLogger("streamsql.connect")
_log.addHandler(logging.NullHandler())
START_SECONDS = 120.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 0.1
_LOOK_SECONDS = 2.0
"""How often the states of connectors are read."""
_TOPICS_SECONDS = 10.0
"""How often the topics of connectors are read."""
_REBALANCE_SECONDS = 30.0
_RESTARTS = Backoff(1.0, 60.0)
_STABLE_SECONDS = 120.0
"""A worker that has run for so long has not failed because of its start."""


class EmbeddedConnect:
    """The worker of one engine. `client` may be called from any thread."""

    def __init__(self, data: DataDir, kafka: Callable[[], Mapping[str, str]]) -> None:
        """`kafka`: waits for the cluster, and returns its settings for Java clients."""
        self._data = data
        self._kafka = kafka
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint: Endpoint | None = None
        self._ready: Endpoint | None = None
        self._plugins: plugins.Fingerprint = ()
        self._keeper: threading.Thread | None = None
        self._restarts = Restarts()
        self._topics_at = 0.0
        self.flows: tuple[Flow, ...] = ()
        """The connectors as they were seen last; none before the worker has run."""
        self.trouble: str | None = None
        """Why the worker does not run, although it has been asked for."""

    def client(self, bundled: Group | None = None) -> ConnectClient:
        """Starts the worker unless it runs, from now on with the plugin that is `bundled`. Raises
        ExternalError if it cannot start."""
        with self._lock:
            if bundled is not None:
                plugins.bundle(self._data.create(), bundled)
            if not self._is_running() or self._plugins != plugins.fingerprint(self._data):
                self._start()
            assert self._endpoint is not None
            self._keep_running()
            return _client(self._endpoint)

    def running(self) -> ConnectClient | None:
        """None while the worker does not run or does not answer yet; starts nothing."""
        endpoint = self._ready
        return None if endpoint is None or not self._is_running() else _client(endpoint)

    def failures(self, name: str) -> Failures | None:
        """Of a connector, whose tasks are restarted after a failure."""
        return self._restarts.of(name)

    def resume(self) -> None:
        """Starts the worker in the background, and retries until it runs."""
        with self._lock:
            self._keep_running()

    def close(self) -> None:
        """Stops the worker, by force after some seconds, and starts it no more."""
        self._closing.set()
        # A start that is under way gives up soon, unless it downloads or Kafka does not answer.
        acquired = self._lock.acquire(timeout=STOP_SECONDS)
        self._stop(STOP_SECONDS)
        if acquired:
            self._lock.release()

    def _is_running(self) -> bool:
        process = self._process
        return process is not None and process.poll() is None

    def _keep_running(self) -> None:
        if self._keeper is None and not self._closing.is_set():
            self._keeper = threading.Thread(target=self._keep, name="connect", daemon=True)
            self._keeper.start()

    def _keep(self) -> None:
        failures = 0
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                self.client()
                if (process := self._process) is not None:
                    self._watch(process)
            except StreamSQLError as error:
                self.trouble = error.message
                _log.warning("%s", error.message)
            lasted = time.monotonic() - began > _STABLE_SECONDS
            failures = 1 if lasted else failures + 1
            self._closing.wait(_RESTARTS.after(failures))

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Restarts tasks that have failed, until the process has ended."""
        while True:
            try:
                process.wait(_LOOK_SECONDS)
                return
            except subprocess.TimeoutExpired:
                self._look()

    def _look(self) -> None:
        """Notes the connectors, and restarts those that have failed."""
        if (client := self.running()) is None:
            return
        try:
            connectors = client.connectors()
            self._note(connectors, client)
            for name in list(self._restarts.due(connectors, time.time())):
                client.restart(name)
                self._restarts.restarted(name, time.time())
        except StreamSQLError as error:
            # Of a worker that is busy or ends: the next look tries again.
            _log.info("%s", error.message)

    def _note(self, connectors: Sequence[Connector], client: ConnectClient) -> None:
        known = {flow.connector.name: flow.topics for flow in self.flows}
        if time.monotonic() - self._topics_at > _TOPICS_SECONDS:
            known, self._topics_at = {}, time.monotonic()
        self.flows = tuple(
            Flow(c, known[c.name] if c.name in known else tuple(client.topics(c.name)))
            for c in connectors
        )

    def _start(self) -> None:
        self._check_open()
        self._stop(STOP_SECONDS)
        data = self._data.create()
        kafka = self._kafka()
        self._plugins = plugins.verified(data)
        jars = [ensure_runtime_jar(), *ensure_jars("connect")]
        # New at each start: another process may get the port of a worker that has ended.
        endpoint = Endpoint(free_ports(1)[0], secrets.token_urlsafe(24))
        config = write_config(data, endpoint, kafka)
        with (data.logs / "connect.out").open("wb") as output:
            process = subprocess.Popen(
                command(data, config, jars),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=data.connect,
                # Memory that the C library keeps for threads is not the heap's.
                env={**inherited_environment(), "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"},
            )
        self._process, self._endpoint = process, endpoint
        try:
            self._await_answer(process, _client(endpoint))
        except BaseException:
            self._stop(0)
            raise
        self._ready, self.trouble = endpoint, None
        record = {"pid": process.pid, "url": endpoint.url}
        (data.connect / "worker.json").write_text(json.dumps(record), "utf-8")

    def _await_answer(self, process: subprocess.Popen[bytes], client: ConnectClient) -> None:
        logs = self._data.logs
        hint = f"Its log is {logs / 'connect.log'}."

        def answers() -> bool:
            self._check_open()
            if process.poll() is not None:
                raise ExternalError(
                    "the embedded Kafka Connect worker did not start",
                    retryable=True,
                    detail=last_errors(logs / "connect.log", logs / "connect.out"),
                    hint=hint,
                )
            try:
                client.connectors()
            except ExternalError:
                return False
            return True

        if not await_condition(answers, START_SECONDS, every=_POLL_SECONDS):
            raise ExternalError(
                "the embedded Kafka Connect worker did not answer in time",
                hint=hint,
                retryable=True,
            )

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise ExternalError("the engine was closed")

    def _stop(self, timeout: float) -> None:
        process, self._process, self._endpoint, self._ready = self._process, None, None, None
        if process is not None:
            stop(process, timeout)


def _client(endpoint: Endpoint) -> ConnectClient:
    return ConnectClient(endpoint.url, endpoint.user, SOURCE_DEFAULTS, _REBALANCE_SECONDS)


@dataclass(frozen=True)
class WorkerStatus:
    """A running worker."""

    url: str
    pid: int


def worker_status(data: DataDir) -> WorkerStatus | None:
    """The worker of a data folder, if it runs; starts nothing and waits for nothing."""
    try:
        found = json.loads((data.connect / "worker.json").read_text("utf-8"))
        arguments = psutil.Process(found["pid"]).cmdline()
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return None
    if marker(data) not in arguments or MAIN_CLASS not in arguments:
        return None
    return WorkerStatus(found["url"], found["pid"])
