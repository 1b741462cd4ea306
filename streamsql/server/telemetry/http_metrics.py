"""Request counters for `/metrics`."""

from __future__ import annotations

from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

# Creation timestamps of series are disabled.
disable_created_metrics()  # type: ignore[no-untyped-call]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class HttpMetrics:
    """The counters of one server, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "streamsql_http_requests",
            "Completed requests.",
            ("path", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "streamsql_http_request_seconds",
            "Time to the first byte of the response.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._running = Gauge(
            "streamsql_http_requests_running",
            "Requests in progress, including streams of rows.",
            ("path",),
            registry=self.registry,
        )

        # Cached, because `labels` takes longer than counting.
        self._running_of = cache(self._running.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._requests_of = cache(self._requests.labels)

    def begun(self, path: str) -> None:
        self._running_of(path).inc()

    def ended(self, path: str, method: str, status: int, seconds: float) -> None:
        self._running_of(path).dec()
        self._requests_of(path, method, status).inc()
        self._seconds_of(path).observe(seconds)
