"""Last step of a start, once Kafka and Spark are up: resumes the queries."""

from __future__ import annotations

from streamsql.config import COMMITS_TOPIC, EPOCHS_TOPIC, PROCESSING_LOG_TOPIC
from streamsql.runtime.reconcile import reconcile
from streamsql.runtime.state import EngineState
from streamsql.runtime.warm_up import start_warm_up

_PROCESSING_LOG_SETTINGS = {"cleanup.policy": "delete", "retention.ms": str(7 * 24 * 3_600_000)}
# The first query reads it completely: small segments are compacted soon.
_COMMITS_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 * 1024 * 1024)}


def start_queries(state: EngineState) -> None:
    """Creates the engine's topics, reconciles, and starts the queries."""
    client = state.services.kafka.get()
    client.create_topic(PROCESSING_LOG_TOPIC, 1, -1, _PROCESSING_LOG_SETTINGS, exists_ok=True)
    client.create_topic(COMMITS_TOPIC, 1, -1, _COMMITS_SETTINGS, exists_ok=True)
    client.create_topic(EPOCHS_TOPIC, 1, -1, _COMMITS_SETTINGS, exists_ok=True)
    state.pushes.remove_leftovers()
    state.services.spark.get()
    if state.failover is None or state.failover.leads:
        reconcile(state)
    state.watch.start(state.queries.topics, state.launcher.status)
    state.queries.start()
    state.serving.start(eager=state.config.serve_tables)
    state.services.resume_connectors(state.captures.compare)
    state.captures.start()
    if state.config.warm_up:
        start_warm_up(state)
