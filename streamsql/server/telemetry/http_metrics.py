"""Counts requests, for `/metrics`."""

from __future__ import annotations

from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

# A series for the start of each series tells nobody anything.
disable_created_metrics()  # type: ignore[no-untyped-call]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class HttpMetrics:
    """The counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "streamsql_http_requests",
            "Requests that have been answered.",
            ("path", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "streamsql_http_request_seconds",
            "Time until the answer to a request began.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._running = Gauge(
            "streamsql_http_requests_running",
            "Requests that are at work, streams of rows included.",
            ("path",),
            registry=self.registry,
        )

        # What `labels` gives, which takes longer than counting does.
        self._running_of = cache(self._running.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._requests_of = cache(self._requests.labels)

    def begun(self, path: str) -> None:
        """A request for this path has come."""
        self._running_of(path).inc()

    def ended(self, path: str, method: str, status: int, seconds: float) -> None:
        """`seconds` until the answer began."""
        self._running_of(path).dec()
        self._requests_of(path, method, status).inc()
        self._seconds_of(path).observe(seconds)
