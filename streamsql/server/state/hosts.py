"""Reports of other servers at /heartbeat and /lag."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

ALIVE_SECONDS = 5.0
"""How long after its last heartbeat a host counts as alive."""
MAX_HOSTS = 100
NO_LAGS: dict[str, Any] = {"stateStoreLags": {}, "updateTimeMs": 0}


class Hosts:
    """Reports of other hosts; the oldest are evicted."""

    def __init__(self) -> None:
        self._beats: OrderedDict[str, int] = OrderedDict()
        self._lags: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def beat(self, host: str, at: int) -> None:
        with self._lock:
            _put(self._beats, host, at)

    def lag(self, host: str, lags: dict[str, Any]) -> None:
        with self._lock:
            _put(self._lags, host, lags)

    def all(self, now: int) -> dict[str, dict[str, Any]]:
        with self._lock:
            beats, lags = dict(self._beats), dict(self._lags)
        return {
            host: host_status(now - beat < ALIVE_SECONDS * 1000, beat, {}, lags.get(host, NO_LAGS))
            for host, beat in beats.items()
        }


def _put(found: OrderedDict[str, Any], host: str, value: Any) -> None:
    found.pop(host, None)
    found[host] = value
    if len(found) > MAX_HOSTS:
        found.popitem(last=False)


def host_status(
    alive: bool, at: int, queries: dict[str, Any], lags: dict[str, Any]
) -> dict[str, Any]:
    return {
        "hostAlive": alive,
        "lastStatusUpdateMs": at,
        "activeStandbyPerQuery": queries,
        "hostStoreLags": lags,
    }
