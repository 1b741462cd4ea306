"""Statements about captured tables of databases."""

from __future__ import annotations

from streamsql.catalog import Source
from streamsql.errors import ConfigError
from streamsql.executor.captures import connector_config, connector_name
from streamsql.results import Warning
from streamsql.runtime.state import EngineState

SETTLE_SECONDS = 60.0


def check_captures(source: Source, state: EngineState) -> None:
    """Raises a StreamSQLError if a new source is captured, and a connector could not do so, or the
    topic already has records."""
    capture, topic = source.capture, source.topic.name
    if capture is None:
        return
    client = state.services.capturing()
    name = connector_name(capture, topic, state.data.instance)
    client.validate({"name": name, **connector_config(capture, topic, name)})
    kafka = state.services.kafka.get()
    if kafka.partitions(topic) is not None and any(kafka.end_offsets(topic).values()):
        raise ConfigError(
            f"the topic {topic} has records, and changes are written to a topic of their own",
            hint="Name another topic: WITH (KAFKA_TOPIC='name', ..).",
        )


def unsettled(state: EngineState, what: str) -> list[Warning]:
    """A warning if the connectors do not follow the catalog soon."""
    error = state.captures.settled(SETTLE_SECONDS)
    if error is None:
        return []
    why = f"{error.message}: {error.detail}" if error.detail else error.message
    return [Warning(f"{what}, which is retried: {why}")]
