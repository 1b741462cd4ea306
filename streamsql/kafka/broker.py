"""The embedded broker's life: started with an engine or on its own, found again, stopped.

A broker is *attached* when it lives and dies with the process that started it, *detached* when
`streamsql kafka start` made it outlive that. Its settings are broker_config.py's business.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.cache import exclusive
from streamsql.jvm.jars import Progress, ensure_jars
from streamsql.jvm.java import inherited_environment
from streamsql.jvm.servers import HOST, last_errors, stop
from streamsql.kafka.broker_config import (
    MAIN_CLASS,
    Ports,
    choose_ports,
    command,
    marker,
    write_config,
)
from streamsql.kafka.client import KafkaClient
from streamsql.waiting import await_condition

START_SECONDS = 120.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 0.02
_LEAST_SPACE = 1 << 20

_detached: list[subprocess.Popen[bytes]] = []
"""Started here and meant to outlive this process; kept so that their end can be noticed."""


@dataclass(frozen=True)
class BrokerStatus:
    """Output of `streamsql kafka status`. `owner` is the process whose lifetime an attached broker
    shares."""

    running: bool
    data_dir: Path
    bootstrap: str | None = None
    pid: int | None = None
    attached: bool = False
    owner: int | None = None


@dataclass(frozen=True)
class _Record:
    """The content of broker.json: the ports outlive the process, the rest describes it."""

    ports: Ports
    pid: int
    attached: bool
    owner: int

    def write(self, path: Path) -> None:
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        os.replace(temporary, path)

    @classmethod
    def read(cls, path: Path) -> _Record | None:
        try:
            found = json.loads(path.read_text("utf-8"))
            return cls(Ports(**found["ports"]), found["pid"], found["attached"], found["owner"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


class EmbeddedBroker:
    """The broker of a data folder, as one engine sees it.

    `start` may be called again when the broker was lost. `stop` ends only a broker that this
    object started.
    """

    def __init__(self, data: DataDir, progress: Progress | None = None) -> None:
        """`progress` is that of `ensure_jars`."""
        self._data = data
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._bootstrap: str | None = None
        self._aborted = threading.Event()

    @property
    def bootstrap(self) -> str:
        """host:port of the running broker."""
        if self._bootstrap is None:
            raise ExternalError("the embedded broker is not running", retryable=True)
        return self._bootstrap

    @property
    def adopted(self) -> bool:
        """Whether another process started the broker."""
        return self._bootstrap is not None and self._process is None

    def start(self, timeout: float = START_SECONDS) -> str:
        """Find or start the broker and wait, `timeout` seconds at most, until it answers."""
        if self._process is not None and self._process.poll() is None and self._bootstrap:
            return self._bootstrap
        self._close_process()
        self._bootstrap, self._process = _find_or_spawn(
            self._data,
            attached=True,
            timeout=timeout,
            progress=self._progress,
            wanted=lambda: not self._aborted.is_set(),
        )
        return self._bootstrap

    def abort(self) -> None:
        """Give up a start that is under way in another thread: it fails at once, for good."""
        self._aborted.set()

    def alive(self) -> bool:
        """Whether the broker's process runs; says nothing about whether it answers."""
        if self._process is not None:
            return self._process.poll() is None
        return self._bootstrap is not None and _running(self._data) is not None

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Shut down a broker started here, by force after `timeout` seconds."""
        process, self._process, self._bootstrap = self._process, None, None
        if process is not None:
            stop(process, timeout)

    def _close_process(self) -> None:
        if self._process is not None:
            self.stop(0)

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_detached(
    data: DataDir, progress: Progress | None = None, archive_to: Path | None = None
) -> BrokerStatus:
    """Starts a broker that outlives this process, unless one is running. `archive_to`: where it
    writes its classes when it is stopped."""
    _find_or_spawn(
        data, attached=False, timeout=START_SECONDS, progress=progress, archive_to=archive_to
    )
    return broker_status(data)


def stop_detached(data: DataDir, timeout: float = STOP_SECONDS) -> bool:
    """Stop the data folder's broker, whether there was one to stop.

    Raises ConfigError for a broker that belongs to a running engine.
    """
    if not data.root.is_dir():
        return False
    with exclusive(data.broker_lock):
        process = _running(data)
        if process is None:
            return False
        record = _Record.read(data.broker_record)
        if record is not None and (owner := _living_owner(process, record)):
            raise ConfigError(
                f"the broker belongs to a running engine (process {owner})",
                hint="It stops with that engine.",
            )
        _terminate(process, timeout)
        # A broker started here is awaited, otherwise it would be reported as running.
        _detached[:] = [started for started in _detached if started.poll() is None]
        return True


def broker_status(data: DataDir) -> BrokerStatus:
    """The state of the data folder's broker; starts nothing and waits for nothing."""
    record = _Record.read(data.broker_record)
    process = _running(data)
    if process is None or record is None or record.pid != process.pid:
        return BrokerStatus(False, data.root)
    return BrokerStatus(
        _accepts(record.ports),
        data.root,
        record.ports.bootstrap,
        process.pid,
        record.attached,
        _living_owner(process, record),
    )


def _find_or_spawn(
    data: DataDir,
    *,
    attached: bool,
    timeout: float,
    progress: Progress | None,
    wanted: Callable[[], bool] = lambda: True,
    archive_to: Path | None = None,
) -> tuple[str, subprocess.Popen[bytes] | None]:
    """The broker's address, and its process if it was started here. ExternalError, after killing
    it, if the broker is no longer `wanted` while it starts."""
    data.create()
    jars = [ensure_runtime_jar(progress), *ensure_jars("kafka", progress)]
    deadline = time.monotonic() + timeout
    with exclusive(data.broker_lock):
        record = _Record.read(data.broker_record)
        if process := _running(data):
            if record and _may_adopt(process, record):
                _await_answer(record.ports, deadline, lambda: _is_running(process, data), data)
                return record.ports.bootstrap, None
            _terminate(process, STOP_SECONDS)
        _check_space(data)
        ports = choose_ports(record.ports if record else None)
        started = _spawn(data, ports, jars, attached, archive_to)
        _Record(ports, started.pid, attached, os.getpid()).write(data.broker_record)
        try:
            _await_answer(ports, deadline, lambda: started.poll() is None and wanted(), data)
        except BaseException:
            started.kill()
            started.wait()
            if started.stdin:
                started.stdin.close()
            raise
    if attached:
        return ports.bootstrap, started
    _detached.append(started)
    return ports.bootstrap, None


def _check_space(data: DataDir) -> None:
    """With a full disk, the broker exits after startup without a reason."""
    if shutil.disk_usage(data.kafka).free < _LEAST_SPACE:
        raise ExternalError(
            f"the embedded broker cannot start: No space left on device for {data.kafka}",
            retryable=True,
        )


def _spawn(
    data: DataDir, ports: Ports, jars: list[Path], attached: bool, archive_to: Path | None
) -> subprocess.Popen[bytes]:
    config = write_config(data, ports)
    with (data.logs / "kafka.out").open("wb") as output:
        # A session of its own: Ctrl-C in the terminal is for the engine, not for the broker.
        return subprocess.Popen(
            command(data, config, jars, attached=attached, archive_to=archive_to),
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=data.kafka,
            # Under the C locale Java can't open a path with other letters than ASCII's.
            env={**inherited_environment(), "LC_ALL": "C.UTF-8"},
        )


def _await_answer(ports: Ports, deadline: float, alive: Callable[[], bool], data: DataDir) -> None:
    """Wait until the broker serves requests; ExternalError if it ends or the deadline passes."""
    client: KafkaClient | None = None

    def answers() -> bool:
        nonlocal client
        if not alive():
            raise ExternalError(
                "the embedded broker did not start",
                detail=last_errors(data.logs / "kafka.log", data.logs / "kafka.out"),
                hint=f"Its log is {data.logs / 'kafka.log'}.",
            )
        # The client backs off after a refused connection: it comes when there is one to have.
        if client is None and _accepts(ports):
            client = KafkaClient(ports.bootstrap)
        return client is not None and client.reachable(1.0)

    if not await_condition(answers, deadline - time.monotonic(), every=_POLL_SECONDS):
        raise ExternalError(
            "the embedded broker did not answer in time",
            hint=f"Its log is {data.logs / 'kafka.log'}.",
            retryable=True,
        )


def _accepts(ports: Ports) -> bool:
    try:
        with socket.create_connection((HOST, ports.client), timeout=1.0):
            return True
    except OSError:
        return False


def _running(data: DataDir) -> psutil.Process | None:
    """The process of this folder's broker. Searches all processes: the record may be missing, or
    its process id reused."""
    for process in psutil.process_iter():
        if _is_running(process, data):
            return process
    return None


def _is_running(process: psutil.Process, data: DataDir) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        arguments = process.cmdline()
    except psutil.Error:
        return False
    return marker(data) in arguments and MAIN_CLASS in arguments


def _may_adopt(process: psutil.Process, record: _Record) -> bool:
    if record.pid != process.pid:
        return False
    return not record.attached or _living_owner(process, record) is not None


def _living_owner(process: psutil.Process, record: _Record) -> int | None:
    """The engine an attached broker belongs to: its parent, for as long as that lives."""
    try:
        if record.attached and process.ppid() == record.owner:
            return record.owner
    except psutil.Error:
        pass
    return None


def _terminate(process: psutil.Process, timeout: float) -> None:
    """End a broker; an orphan is ending already and is given the same time."""
    try:
        process.terminate()
        try:
            process.wait(timeout)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(timeout)
    except psutil.NoSuchProcess:
        return
