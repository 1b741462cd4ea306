"""Export of the catalog as a script, without an engine or while one runs."""

from __future__ import annotations

from streamsql.config import EngineConfig
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError
from streamsql.kafka.broker import broker_status
from streamsql.kafka.client import KafkaClient
from streamsql.log.entries import Entry, read_file
from streamsql.log.membership import data_of, joined
from streamsql.log.topic_log import entries_of
from streamsql.runtime.export import catalog_script


def exported(config: EngineConfig) -> str:
    """Statements that create the catalog of a configured engine. ConfigError if they are in a Kafka
    that is not running; InternalError for a log that cannot be replayed."""
    return catalog_script(entries_of_engine(config))


def entries_of_engine(config: EngineConfig) -> list[Entry]:
    """The statement log of a configured engine, which may be running; ConfigError if it is in a
    Kafka that is not running."""
    config = joined(config)
    data = data_of(config)
    return read_file(data.statements) if config.service_id is None else _shared(config, data)


def _shared(config: EngineConfig, data: DataDir) -> list[Entry]:
    assert config.service_id is not None
    servers = config.bootstrap_servers or broker_status(data).bootstrap
    if servers is None:
        raise ConfigError(
            f"the statements of the service {config.service_id} are in Kafka, which is not running",
            hint="Start it with `streamsql kafka start`.",
        )
    return entries_of(KafkaClient(servers, security=config.kafka), config.service_id)
