"""Configuration of an engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROCESSING_LOG_TOPIC = "streamsql_processing_log"
"""Topic of the processing log of all queries."""
PUSH_TOPIC_PREFIX = "_streamsql_push_"
"""Topics with the rows of running push queries."""
COMMAND_TOPIC_PREFIX = "_streamsql_command_"
"""Topics with the statements of a service."""
REBUILD_TOPIC_PREFIX = "_streamsql_rebuild_"
"""Topics with the results of a rebuild before the switch."""
COMMITS_TOPIC = "_streamsql_commits"
"""Committed positions of exactly-once queries."""
EPOCHS_TOPIC = "_streamsql_epochs"
"""The epochs of views, and where each view's topic ends its latest one."""
REGISTRY_TOPIC = "_schemas"
"""Journal of the embedded schema registry."""
CONNECT_TOPIC_PREFIX = "_streamsql_connect_"
"""Topics of the embedded Connect worker: connectors, offsets, status."""
_ENGINE_PREFIX = "_streamsql_"
_OF_KAFKA = (
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__cluster_metadata",
    "__remote_log_metadata",
)


def is_internal(topic: str) -> bool:
    """Whether the topic belongs to the engine, the schema registry or Kafka itself.

    No statement writes or deletes such a topic, whatever the role of its user.
    """
    reserved = (PROCESSING_LOG_TOPIC, REGISTRY_TOPIC, *_OF_KAFKA)
    return topic in reserved or topic.startswith(_ENGINE_PREFIX)


def is_secret(topic: str) -> bool:
    """Whether statements cannot read the topic. The processing log and the rows of a staged rebuild
    are readable; the other internal topics hold statements with their settings, positions and
    sessions."""
    shown = topic == PROCESSING_LOG_TOPIC or topic.startswith(REBUILD_TOPIC_PREFIX)
    return is_internal(topic) and not shown


@dataclass(frozen=True)
class EngineConfig:
    """`bootstrap_servers` None: an embedded broker; `data_dir` None: the user's data folder."""

    data_dir: Path | None = None
    bootstrap_servers: str | None = None
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Kafka security settings for `bootstrap_servers` (security.protocol, sasl.*, ssl.*) with the
    names of Kafka's Java client. They apply to all clients, in and outside of the JVM."""
    master: str | None = None
    """Spark's master; None: local, in the engine's JVM."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Additional Spark settings, for executors and the cluster."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Initial SET properties of the engine's session, and sizes of the engine."""
    debug: bool = False
    serve_tables: bool = False
    """Whether every table with key lookups has a store; otherwise only tables that have been
    queried."""
    until_caught_up: bool = False
    """Persistent queries only run in `Engine.catch_up`, once each."""
    service_id: str | None = None
    """Engines with the same service id share their statements, and one of them runs the queries.
    None: a single engine with its statements in the data folder."""
    advertised_url: str | None = None
    """URL of this server for the other servers of the service."""
    interactive: bool = True
    """False: only `Engine.run_files` runs statements."""
    checkpoints: str | os.PathLike[str] | None = None
    """A folder shared by all servers of the service, or a URL in an object store; None: in the data
    folder."""
    warm_up: bool = False
    """Whether the JVM warms up while there is no query. It uses some seconds of CPU time."""
