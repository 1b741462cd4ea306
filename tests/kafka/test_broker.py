"""The embedded broker's life and death, on the real thing.

An engine that dies is a process of its own here: only SIGKILL shows what it leaves behind.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError
from streamsql.jvm.servers import HOST
from streamsql.kafka.broker import (
    EmbeddedBroker,
    broker_status,
    start_detached,
    stop_detached,
)
from streamsql.kafka.client import KafkaClient, NewRecord
from tests.awaiting import await_until

_ENGINE = """
import sys, time
from streamsql.kafka.broker import EmbeddedBroker, broker_status
from streamsql.data_folder import DataDir
data = DataDir.at(sys.argv[1])
broker = EmbeddedBroker(data)
broker.start()
print(broker_status(data).pid, flush=True)
time.sleep(600)
"""


@contextmanager
def _engine(data: DataDir) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An engine's process, and the process id of its broker."""
    with subprocess.Popen(
        [sys.executable, "-c", _ENGINE, str(data.root)], stdout=subprocess.PIPE, text=True
    ) as engine:
        try:
            assert engine.stdout is not None
            yield engine, int(engine.stdout.readline())
        finally:
            engine.kill()


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataDir]:
    data = DataDir.at(tmp_path / "data ü").create()
    yield data
    for process in psutil.process_iter():
        try:
            if f"-Dstreamsql.broker={data.root}" in process.cmdline():
                process.kill()
        except psutil.Error:
            continue


def _write(broker: EmbeddedBroker, value: bytes) -> None:
    client = KafkaClient(broker.bootstrap)
    client.create_topic("kept", exists_ok=True)
    client.produce("kept", [NewRecord(b"k", value)])


def _values(broker: EmbeddedBroker) -> list[bytes | None]:
    client = KafkaClient(broker.bootstrap)
    return [r.value for r in client.consume("kept", until=client.end_offsets("kept"))]


def test_a_stranger_with_the_recorded_process_id_is_left_alone(data: DataDir) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        record = {
            "ports": {"client": 1, "controller": 2},
            "pid": stranger.pid,
            "attached": False,
            "owner": os.getpid(),
        }
        data.broker_record.write_text(json.dumps(record))
        assert not broker_status(data).running
        assert not stop_detached(data)
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"ports": 1}'])
def test_an_unreadable_record_is_no_record(data: DataDir, content: str) -> None:
    data.broker_record.write_text(content)
    assert not broker_status(data).running


def test_no_folder_no_broker(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "none")
    assert not broker_status(data).running
    assert not stop_detached(data)
    assert not data.root.exists()


@pytest.mark.kafka
def test_a_broker_dies_with_its_engine_and_its_data_is_found_again(data: DataDir) -> None:
    with _engine(data) as (engine, broker_pid):
        status = broker_status(data)
        assert status.running
        assert (status.pid, status.attached, status.owner) == (broker_pid, True, engine.pid)
        with pytest.raises(ConfigError, match=rf"running engine \(process {engine.pid}\)"):
            stop_detached(data)
        # A second engine's command (`streamsql load`) uses it and does not stop it.
        other = EmbeddedBroker(data)
        other.start()
        assert other.adopted
        _write(other, b"first")
        other.stop()
        assert broker_status(data).running
        engine.send_signal(signal.SIGKILL)
    # At once: the broker may be alive still, and is an orphan.
    broker = EmbeddedBroker(data)
    broker.start()
    assert not broker.adopted
    assert broker.bootstrap == status.bootstrap
    assert not psutil.pid_exists(broker_pid)
    assert _values(broker) == [b"first"]
    _write(broker, b"second")
    # A crash of the broker itself; the same object starts it again.
    pid = broker_status(data).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await_until(lambda: not broker.alive(), "the end of the broker")
    broker.start()
    assert _values(broker) == [b"first", b"second"]
    broker.stop()
    assert not broker_status(data).running


@pytest.mark.kafka
def test_an_orphan_goes_away_by_itself(data: DataDir) -> None:
    with _engine(data) as (engine, broker_pid):
        engine.send_signal(signal.SIGKILL)
    await_until(lambda: not psutil.pid_exists(broker_pid), "the end of the orphan", 60)
    assert "SHUTTING_DOWN" in (data.logs / "kafka.log").read_text()


@pytest.mark.kafka
def test_a_detached_broker_is_adopted_and_outlives_the_engine(data: DataDir) -> None:
    started = start_detached(data)
    assert started.running and not started.attached
    assert start_detached(data) == started
    with _engine(data) as (engine, broker_pid):
        assert broker_pid == started.pid
        engine.send_signal(signal.SIGKILL)
    assert broker_status(data) == started
    assert stop_detached(data)
    assert not broker_status(data).running
    assert not stop_detached(data)
    # Its ports are taken by another process in the meantime.
    assert started.bootstrap is not None
    port = int(started.bootstrap.rpartition(":")[2])
    with socket.create_server((HOST, port)), EmbeddedBroker(data) as broker:
        assert broker.bootstrap != started.bootstrap
        assert KafkaClient(broker.bootstrap).reachable()


@pytest.mark.kafka
def test_a_broker_that_cannot_start_says_why(data: DataDir) -> None:
    (data.kafka / "storage").write_text("a file where the folder should be")
    with pytest.raises(ExternalError, match="the embedded broker did not start") as raised:
        EmbeddedBroker(data).start()
    assert raised.value.hint == f"Its log is {data.logs / 'kafka.log'}."
    assert raised.value.detail
    assert not broker_status(data).running
