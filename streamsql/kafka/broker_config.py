"""Configuration of the embedded broker: ports, properties, logging and JVM options."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamsql.data_folder import DataDir
from streamsql.jvm.archives import archive_options
from streamsql.jvm.java import OPTIMIZED_LATE, find_java
from streamsql.jvm.servers import HOST, escaped, free_ports, is_free, write_logging

MAIN_CLASS = "io.streamsql.kafka.BrokerMain"

# One node, few partitions, little memory, and answers without waiting for others.
# Records live by their event time, which may lie years back or ahead: no limit on timestamps, and
# no age at which a topic's records vanish unless the topic itself says so.
# After a crash the node waits until its former self, which it cannot reach, has not been heard of
# for a session: by default 9 s of every start.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={storage}

auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1

log.retention.ms=-1
log.retention.bytes=-1
log.roll.hours=876000
log.message.timestamp.type=CreateTime
log.message.timestamp.before.max.ms=9223372036854775807
log.message.timestamp.after.max.ms=9223372036854775807
log.segment.bytes=268435456
log.index.size.max.bytes=1048576
message.max.bytes=16777216

group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
num.replica.fetchers=1
background.threads=2
num.recovery.threads.per.data.dir=2
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=15000
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=300
metric.reporters=
"""


@dataclass(frozen=True)
class Ports:
    """Where the broker listens: for clients, and for its own controller."""

    client: int
    controller: int

    @property
    def bootstrap(self) -> str:
        """Where clients find the broker: `host:port`."""
        return f"{HOST}:{self.client}"


def choose_ports(remembered: Ports | None) -> Ports:
    """The ports of last time where they are still free, else others."""
    if remembered and is_free(remembered.client) and is_free(remembered.controller):
        return remembered
    return Ports(*free_ports(2))


def marker(data: DataDir) -> str:
    """The JVM option by which a process is known as the broker of this data folder."""
    return f"-Dstreamsql.broker={data.root}"


def write_config(data: DataDir, ports: Ports) -> Path:
    """The broker's properties file, written at each start."""
    path = data.kafka / "server.properties"
    text = _PROPERTIES.format(
        host=HOST,
        port=ports.client,
        controller_port=ports.controller,
        storage=escaped(str(data.kafka / "storage")),
    )
    path.write_text(text, encoding="latin-1")
    write_logging(data.kafka / "log4j2.xml", data.logs / "kafka.log")
    return path


def command(
    data: DataDir,
    config: Path,
    jars: Sequence[Path],
    *,
    attached: bool,
    archive_to: Path | None = None,
) -> list[str]:
    """The command line; `attached` makes the process end with its standard input. `archive_to`:
    where it writes its classes on exit."""
    java = find_java()
    return [
        str(java.program),
        marker(data),
        "-Xms64m",
        "-Xmx512m",
        "-XX:+UseSerialGC",
        # A start costs 3.1 s of CPU, 2.2 without the second compiler, which takes a quarter off
        # what load costs (6 queries, 20,000 records/s: 0.55 in place of 0.75 cores).
        *OPTIMIZED_LATE,
        "-Xshare:auto",
        *archive_options("kafka", java, jars, archive_to),
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={data.kafka / 'log4j2.xml'}",
        "-Dlog4j2.disableJmx=true",
        "-cp",
        os.pathsep.join(str(jar) for jar in jars),
        MAIN_CLASS,
        str(config),
        _cluster_id(),
        "attached" if attached else "detached",
    ]


def _cluster_id() -> str:
    """A random one; never with a leading '-', which the format tool reads as an option."""
    return "s" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:21]
