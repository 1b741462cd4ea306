"""The embedded Connect worker of a data folder and its plugins, without an engine."""

from __future__ import annotations

from streamsql.connectors.embedded.plugins import InstalledPlugin, install, installed, remove
from streamsql.connectors.embedded.worker import WorkerStatus, worker_status

__all__ = [
    "InstalledPlugin",
    "WorkerStatus",
    "install",
    "installed",
    "remove",
    "worker_status",
]
