"""What an engine is told when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROCESSING_LOG_TOPIC = "streamsql_processing_log"
"""Where all queries report records they cannot process."""
PUSH_TOPIC_PREFIX = "_streamsql_push_"
"""Topics that hold the rows of running push queries."""
REGISTRY_TOPIC = "_schemas"
"""What the embedded schema registry knows."""
DEFAULT_MASTER = "local[64]"
"""Threads, not cores: a real-time query holds one per source partition and per shuffle partition
while it runs."""


@dataclass(frozen=True)
class EngineConfig:
    """`bootstrap_servers` None: an embedded broker; `data_dir` None: the user's own folder."""

    data_dir: Path | None = None
    bootstrap_servers: str | None = None
    master: str | None = None
    """Spark's master, DEFAULT_MASTER if None."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of SET, which the engine's session starts with."""
    debug: bool = False
    until_caught_up: bool = False
    """Persistent queries do not run by themselves: `Engine.catch_up` runs them, each once."""
