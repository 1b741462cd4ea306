"""Server configuration files: ksqlDB's server properties, as far as they apply. Returns server
options under the names of ServerConfig and EngineConfig, and separately the Kafka connection and
SET properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamsql.engine import KAFKA_SETTINGS, checked_kafka_settings
from streamsql.errors import ConfigError
from streamsql.properties_file import read_properties
from streamsql.server.http.errors import RequestError
from streamsql.server.http.requests import checked_properties

SERVER_NAMES = {
    "listeners": "listen",
    "bootstrap.servers": "bootstrap_servers",
    "ksql.service.id": "service_id",
    "ksql.advertised.listener": "advertised_url",
    "ksql.queries.file": "queries_file",
    "streamsql.data": "data",
    "streamsql.master": "master",
    "streamsql.spark.config": "spark_config",
    "streamsql.checkpoints": "checkpoints",
    "streamsql.tls.cert": "tls_cert",
    "streamsql.tls.key": "tls_key",
    "streamsql.tls.client.ca": "tls_client_ca",
    "streamsql.users.file": "users_file",
    "streamsql.postgres": "postgres",
    "streamsql.openlineage.url": "openlineage_url",
    "streamsql.scripts": "scripts",
    "streamsql.log.format": "log_format",
    "streamsql.log.level": "log_level",
    "streamsql.allowed.hosts": "allowed_host",
    "streamsql.trusted.proxies": "trusted_proxy",
    "streamsql.cors.origins": "cors_origin",
    "streamsql.max.requests.per.second": "max_requests_per_second",
    "streamsql.max.push.queries": "max_push_queries",
    "ksql.max.push.queries": "max_push_queries",
    "streamsql.max.request.bytes": "max_request_bytes",
    "streamsql.max.statement.bytes": "max_statement_bytes",
}
"""Option of `streamsql server` for each property."""


@dataclass(frozen=True)
class ConfigFile:
    """Content of the file."""

    options: Mapping[str, str] = field(default_factory=dict)
    """By option name of the command."""
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_config(path: Path) -> ConfigFile:
    """Reads a file; ConfigError if it is unreadable or has an unknown setting."""
    options: dict[str, str] = {}
    kafka: dict[str, str] = {}
    rest: dict[str, str] = {}
    for name, value in read_properties(path).items():
        if name in SERVER_NAMES:
            options[SERVER_NAMES[name]] = value
        elif name in KAFKA_SETTINGS:
            kafka[name] = value
        else:
            rest[name] = value
    if "listen" in options:
        options["listen"] = options["listen"].split(",")[0].strip()
    try:
        return ConfigFile(options, checked_kafka_settings(kafka), checked_properties(rest))
    except RequestError as error:
        raise ConfigError(f"{path}: {error.message}") from None
