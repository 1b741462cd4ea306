"""Three brokers that hold every record three times, as processes of this machine to be killed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from awaiting import await_until
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streamsql.data_folder import DataDir
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.servers import HOST
from streamsql.kafka.broker_config import Ports, choose_ports, command, write_config

COUNT = 3
START_SECONDS = 120.0
CLUSTER_ID = "c3RyZWFtc3FsY2x1c3Rlcg"
# The time-outs are Kafka's own defaults, which the embedded broker has shorter.
_REPLICATED = f"""
default.replication.factor={COUNT}
min.insync.replicas=2
offsets.topic.replication.factor={COUNT}
transaction.state.log.replication.factor={COUNT}
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor={COUNT}
share.coordinator.state.topic.min.isr=2
broker.session.timeout.ms=9000
broker.heartbeat.interval.ms=2000
"""


class Brokers:
    """A cluster in KRaft mode: each process is a broker and a controller."""

    def __init__(self, folder: Path) -> None:
        self._data = [DataDir.at(folder / f"kafka-{n}") for n in range(1, COUNT + 1)]
        self._ports: list[Ports] = []
        while len(set(self._ports)) < COUNT:
            self._ports = [choose_ports(None) for _ in range(COUNT)]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for data in self._data:
            data.kafka.mkdir(parents=True, exist_ok=True)
            data.logs.mkdir(parents=True, exist_ok=True)
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @property
    def bootstrap(self) -> str:
        return ",".join(ports.bootstrap for ports in self._ports)

    def start(self, index: int) -> None:
        """Returns at once; see `await_in_sync`."""
        data = self._data[index]
        config = write_config(data, self._ports[index])
        voters = ",".join(f"{n}@{HOST}:{p.controller}" for n, p in enumerate(self._ports, 1))
        own = f"\nnode.id={index + 1}\ncontroller.quorum.voters={voters}\n"
        config.write_text(config.read_text("latin-1") + own + _REPLICATED, "latin-1")
        jars = [*ensure_jars("kafka"), ensure_runtime_jar()]
        *program, _random_id, attached = command(data, config, jars, attached=True)
        self._processes[index] = subprocess.Popen(
            [*program, CLUSTER_ID, attached],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def await_in_sync(self) -> None:
        """All three live, and each has all records."""
        await_until(self._in_sync, "the brokers to be in sync", START_SECONDS, every=0.2)

    def _in_sync(self) -> bool:
        with suppress(KafkaException):
            found = self._admin.list_topics(timeout=5)
            partitions = [p for topic in found.topics.values() for p in topic.partitions.values()]
            return len(found.brokers) == COUNT and all(len(p.isrs) == COUNT for p in partitions)
        return False

    def kill(self, index: int) -> None:
        """SIGKILL."""
        process = self._processes.pop(index)
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def stop(self) -> None:
        for index in [*self._processes]:
            self.kill(index)


@contextmanager
def brokers(folder: Path) -> Iterator[Brokers]:
    """Three that run."""
    found = Brokers(folder)
    try:
        for index in range(COUNT):
            found.start(index)
        found.await_in_sync()
        yield found
    finally:
        found.stop()
