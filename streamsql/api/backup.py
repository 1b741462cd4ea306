"""All that there is as a script, without an engine and beside one that runs."""

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
    """The statements that make anew what the engine of that configuration has.

    ConfigError where they are in Kafka, and that does not run; InternalError for a log that cannot
    be replayed.
    """
    return catalog_script(entries_of_engine(config))


def entries_of_engine(config: EngineConfig) -> list[Entry]:
    """The statement log of the engine of that configuration, which may be running; ConfigError
    where it is in Kafka, and that does not run."""
    config = joined(config)
    data = data_of(config)
    return read_file(data.statements) if config.service_id is None else _shared(config, data)


def _shared(config: EngineConfig, data: DataDir) -> list[Entry]:
    """Those of a service of several engines."""
    assert config.service_id is not None
    servers = config.bootstrap_servers or broker_status(data).bootstrap
    if servers is None:
        raise ConfigError(
            f"the statements of the service {config.service_id} are in Kafka, which does not run",
            hint="Start it with `streamsql kafka start`.",
        )
    return entries_of(KafkaClient(servers, security=config.kafka), config.service_id)
