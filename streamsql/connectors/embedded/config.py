"""Configuration of the embedded Connect worker: properties, login, logging and JVM options."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamsql.config import CONNECT_TOPIC_PREFIX
from streamsql.connectors.embedded.plugins import are_declared
from streamsql.data_folder import DataDir
from streamsql.jvm.java import OPTIMIZED_LATE, find_java
from streamsql.jvm.servers import HOST, properties_text, write_logging

MAIN_CLASS = "io.streamsql.kafka.ConnectMain"
USER = "streamsql"
CONNECTOR_KEY = "connector-"
"""Of the keys of the records in `config_topic` that have the properties of a connector."""

_AUTHENTICATION = "org.apache.kafka.connect.rest.basic.auth.extension"

# Records are JSON, as those of streamsql, unless a connector has converters of its own. One worker
# needs few partitions. The connectors of a worker that has died need not wait for its return: the
# next one is the same.
_PROPERTIES = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "exactly.once.source.support": "enabled",
    "config.storage.replication.factor": "-1",
    "offset.storage.replication.factor": "-1",
    "offset.storage.partitions": "1",
    "status.storage.replication.factor": "-1",
    "status.storage.partitions": "1",
    "scheduled.rebalance.max.delay.ms": "0",
    "config.providers": "env,file",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "rest.extension.classes": f"{_AUTHENTICATION}.BasicAuthSecurityRestExtension",
    "metric.reporters": "",
}

# Topics of a source connector are created like those of streamsql, unless it says otherwise: the
# embedded broker creates none by itself.
SOURCE_DEFAULTS = {
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "-1",
}


@dataclass(frozen=True)
class Endpoint:
    """The REST API of a worker, and who may use it."""

    port: int
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def user(self) -> str:
        """`name:password`."""
        return f"{USER}:{self.password}"


def config_topic(data: DataDir) -> str:
    """The topic with the connectors of a data folder's worker."""
    return f"{CONNECT_TOPIC_PREFIX}{data.instance}_configs"


def marker(data: DataDir) -> str:
    """The JVM option by which a process is known as the worker of this data folder."""
    return f"-Dstreamsql.connect={data.root}"


def write_config(data: DataDir, endpoint: Endpoint, kafka: Mapping[str, str]) -> Path:
    """The worker's properties file, written at each start; `kafka`: the connection settings."""
    for folder in (data.plugins, data.bundled):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    passwords, login = data.connect / "users.properties", data.connect / "login.conf"
    _write(passwords, properties_text({USER: endpoint.password}))
    module = f"{_AUTHENTICATION}.PropertyFileLoginModule"
    file = json.dumps(str(passwords), ensure_ascii=False)
    _write(login, f"KafkaConnect {{ {module} required file={file}; }};\n")
    write_logging(data.connect / "log4j2.xml", data.logs / "connect.log")
    name = f"{CONNECT_TOPIC_PREFIX}{data.instance}"
    properties = {
        **_PROPERTIES,
        "group.id": name,
        "config.storage.topic": config_topic(data),
        "offset.storage.topic": f"{name}_offsets",
        "status.storage.topic": f"{name}_status",
        "listeners": endpoint.url,
        # The search takes 300 MB and most of the time of a start.
        "plugin.discovery": "service_load" if are_declared(data) else "hybrid_warn",
        # Relative to the worker's folder: the list cannot hold a path with a comma.
        "plugin.path": f"{data.plugins.name},{data.bundled.name}",
        # The worker's own clients, and those of connectors.
        **{
            f"{of}{k}": v
            for of in ("", "producer.", "consumer.", "admin.")
            for k, v in kafka.items()
        },
    }
    path = data.connect / "worker.properties"
    _write(path, properties_text(properties))
    return path


def _write(path: Path, text: str) -> None:
    """To a file that only its owner reads."""
    with open(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)


def command(data: DataDir, config: Path, jars: Sequence[Path]) -> list[str]:
    """The command line of a worker that ends with its standard input."""
    return [
        str(find_java().program),
        marker(data),
        "-Xms16m",
        "-Xmx512m",
        "-Xss512k",
        "-XX:+UseSerialGC",
        *OPTIMIZED_LATE,
        "-Xshare:auto",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        f"-Djava.security.auth.login.config={data.connect / 'login.conf'}",
        f"-Dlog4j2.configurationFile={data.connect / 'log4j2.xml'}",
        "-Dlog4j2.disableJmx=true",
        "-cp",
        os.pathsep.join(str(jar) for jar in jars),
        MAIN_CLASS,
        str(config),
    ]
