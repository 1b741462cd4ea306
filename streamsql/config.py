"""What an engine is told when it is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROCESSING_LOG_TOPIC = "streamsql_processing_log"
"""Where all queries report records they cannot process."""
PUSH_TOPIC_PREFIX = "_streamsql_push_"
"""Topics that hold the rows of running push queries."""
COMMAND_TOPIC_PREFIX = "_streamsql_command_"
"""Topics that hold the statements of servers, one for each service."""
REBUILD_TOPIC_PREFIX = "_streamsql_rebuild_"
"""Of topics that hold what a query would write while it is built anew."""
COMMITS_TOPIC = "_streamsql_commits"
"""What the transactions of queries with exactly-once delivery say of how far they reach."""
REGISTRY_TOPIC = "_schemas"
"""What the embedded schema registry knows."""
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
    """Whether no statement reads the topic either.

    The processing log and the rows of a staged rebuild are for users. The other internal topics
    hold statements with their settings, positions and sessions.
    """
    shown = topic == PROCESSING_LOG_TOPIC or topic.startswith(REBUILD_TOPIC_PREFIX)
    return is_internal(topic) and not shown


@dataclass(frozen=True)
class EngineConfig:
    """`bootstrap_servers` None: an embedded broker; `data_dir` None: the user's own folder."""

    data_dir: Path | None = None
    bootstrap_servers: str | None = None
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How to log in to the cluster of `bootstrap_servers`: security.protocol, sasl.*, ssl.* as
    Kafka's Java client has them. Every client, in the JVM or not, follows it."""
    master: str | None = None
    """Spark's master; None: in the engine's own JVM."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark's besides our own: of executors and of what a cluster wants to know."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of SET, which the engine's session starts with, and sizes of the engine."""
    debug: bool = False
    serve_tables: bool = False
    """Whether every table that can be asked by key is kept ready for it; else those that have been
    asked for once."""
    until_caught_up: bool = False
    """Persistent queries do not run by themselves: `Engine.catch_up` runs them, each once."""
    service_id: str | None = None
    """Engines of one service share their statements, and one of them runs the queries; None: this
    engine is alone and keeps its statements in its data folder."""
    advertised_url: str | None = None
    """Where the other servers of the service find this one."""
    interactive: bool = True
    """False: only what Engine.run_files is given is run, no other statements."""
    checkpoints: str | os.PathLike[str] | None = None
    """A folder that all servers of the service reach, or the URL of one in an object store; None:
    in the data folder."""
    warm_up: bool = False
    """Whether the JVM is made ready for the first query while there is none: for engines that wait
    for statements, as it takes some seconds of processor time."""
