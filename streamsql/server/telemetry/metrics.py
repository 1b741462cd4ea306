"""Metrics of queries, stores and the server for Prometheus, read on request. Push queries are only
counted, since a series for each would be unbounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from streamsql.server.telemetry.http_metrics import HttpMetrics
from streamsql.status import (
    QueryInfo,
    QueryMetrics,
    QueryState,
    Resources,
    StartupStatus,
    StoreInfo,
)
from streamsql.version import VERSION

_QUERY = ("query_id",)
_TABLE = ("table",)


class Observed(Protocol):
    """The required part of Engine."""

    def startup(self) -> StartupStatus: ...

    def queries(self) -> Sequence[QueryInfo]: ...

    def query_metrics(self) -> Mapping[str, QueryMetrics]: ...

    def stores(self) -> Sequence[StoreInfo]: ...

    def resources(self) -> Resources: ...


class EngineCollector(Collector):
    """The numbers of one engine."""

    def __init__(self, engine: Observed) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        about = {"version": VERSION}
        yield InfoMetricFamily("streamsql_build", "Version of the server.", about)
        ready = GaugeMetricFamily("streamsql_ready", "1 if Kafka, Spark and the queries are up.")
        ready.add_metric((), float(self._engine.startup().ready))
        yield ready
        infos = self._engine.queries()
        yield _counted(infos)
        persistent = [info for info in infos if info.kind == "PERSISTENT"]
        yield from _states(persistent)
        yield from _numbers(persistent, self._engine.query_metrics())
        yield from _stores(self._engine.stores())
        yield from _resources(self._engine.resources())


def _counted(infos: Sequence[QueryInfo]) -> Metric:
    family = GaugeMetricFamily("streamsql_queries", "Number of queries.", labels=("type", "state"))
    kinds = {"PERSISTENT", "PUSH"}
    for kind in sorted(kinds):
        for state in QueryState:
            number = sum(i.kind == kind and i.state is state for i in infos)
            family.add_metric((kind.lower(), state.value.lower()), number)
    return family


def _states(infos: Sequence[QueryInfo]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "streamsql_query_state",
        "1 for the current state of a query, 0 for the others.",
        labels=(*_QUERY, "state"),
    )
    mode = GaugeMetricFamily(
        "streamsql_query_mode",
        "1 for the mode of a query after it has caught up.",
        labels=(*_QUERY, "mode"),
    )
    lag = GaugeMetricFamily("streamsql_query_lag_records", "Unprocessed records.", labels=_QUERY)
    for info in infos:
        for possible in QueryState:
            state.add_metric((info.id, possible.value.lower()), float(info.state is possible))
        mode.add_metric((info.id, info.mode), 1.0)
        if info.lag is not None:
            lag.add_metric((info.id,), info.lag)
    yield from (state, mode, lag)


Number = Callable[[QueryMetrics], float | None]

_COUNTERS: tuple[tuple[str, str, Number], ...] = (
    ("records_in", "Records read.", lambda m: m.records_in),
    ("bytes_in", "Bytes of keys and values read.", lambda m: m.bytes_in),
    ("records_out", "Records written.", lambda m: m.records_out),
    ("bytes_out", "Bytes of keys and values written.", lambda m: m.bytes_out),
    ("errors", "Records that failed and are in the processing log.", lambda m: m.errors),
    ("rows_late", "Rows dropped because their window had closed.", lambda m: m.rows_late),
    ("records_lost", "Records deleted before they were read.", lambda m: m.records_lost),
    ("batches", "Completed batches.", lambda m: m.batches),
)
_GAUGES: tuple[tuple[str, str, Number], ...] = (
    ("batch_seconds", "Duration of the last batch.", lambda m: _seconds(m.batch_ms)),
    ("state_rows", "Entries of the query's state.", lambda m: m.state_rows),
    ("state_memory_bytes", "Memory of the query's state.", lambda m: m.state_memory_bytes),
    ("state_disk_bytes", "Disk size of the query's state.", lambda m: m.state_disk_bytes),
    (
        "last_output_timestamp_seconds",
        "Time of the last output, in seconds since 1970.",
        lambda m: _seconds(m.last_out_ms),
    ),
)


def _numbers(infos: Sequence[QueryInfo], metrics: Mapping[str, QueryMetrics]) -> Iterator[Metric]:
    known = [(info.id, metrics[info.id]) for info in infos if info.id in metrics]
    for name, doc, number in _COUNTERS:
        counter = CounterMetricFamily(f"streamsql_query_{name}", doc, labels=_QUERY)
        _fill(counter, ((id, number(found)) for id, found in known))
        yield counter
    violations = CounterMetricFamily(
        "streamsql_query_constraint_violations",
        "Records that violated a constraint.",
        labels=(*_QUERY, "constraint"),
    )
    for id, found in known:
        for constraint, count in (found.violations or {}).items():
            violations.add_metric((id, constraint), count)
    yield violations
    for name, doc, number in _GAUGES:
        gauge = GaugeMetricFamily(f"streamsql_query_{name}", doc, labels=_QUERY)
        _fill(gauge, ((id, number(found)) for id, found in known))
        yield gauge
    latency = HistogramMetricFamily(
        "streamsql_query_latency_seconds",
        "Latency from the timestamp of a result's record to its acknowledgement by Kafka.",
        labels=_QUERY,
    )
    for id, found in known:
        if found.latency is not None:
            buckets = [
                ("+Inf" if bound == float("inf") else str(bound), count)
                for bound, count in found.latency.cumulative
            ]
            latency.add_metric((id,), buckets, sum_value=found.latency.total / 1000)
    yield latency
    yield _recent_latencies(known)


def _recent_latencies(known: Iterable[tuple[str, QueryMetrics]]) -> Metric:
    family = GaugeMetricFamily(
        "streamsql_query_latency_quantile_seconds",
        "Latency quantiles of the last minute and the last hour.",
        labels=(*_QUERY, "window", "quantile"),
    )
    for id, metrics in known:
        for window, found in metrics.recent.items():
            for quantile, ms in (("0.5", found.p50), ("0.95", found.p95), ("0.99", found.p99)):
                family.add_metric((id, window, quantile), ms / 1000)
    return family


def _stores(stores: Iterable[StoreInfo]) -> Iterator[Metric]:
    lag = GaugeMetricFamily(
        "streamsql_store_lag_records",
        "Records of its topic that a table's store has not applied.",
        labels=_TABLE,
    )
    rows = GaugeMetricFamily(
        "streamsql_store_rows", "Approximate number of rows of a table's store.", labels=_TABLE
    )
    found = list(stores)
    _fill(lag, ((store.table, store.lag) for store in found))
    _fill(rows, ((store.table, store.rows) for store in found))
    yield from (lag, rows)


def _resources(found: Resources) -> Iterator[Metric]:
    yield GaugeMetricFamily("streamsql_cpus", "Available CPUs.", value=found.cpus)
    memory = GaugeMetricFamily(
        "streamsql_memory_limit_bytes",
        "Memory of the machine and limits of its parts; tables is a part of heap.",
        labels=("part",),
    )
    for part, megabytes in found.memory_mb.items():
        memory.add_metric((part,), megabytes << 20)
    yield memory
    disk = GaugeMetricFamily(
        "streamsql_disk_free_bytes",
        "Free space of the data and the checkpoints.",
        labels=("folder",),
    )
    _fill(disk, found.disk_free.items())
    yield disk
    slots = GaugeMetricFamily("streamsql_task_slots", "Maximum number of concurrent tasks.")
    if found.task_slots is not None:
        slots.add_metric((), found.task_slots)
    yield slots
    yield GaugeMetricFamily(
        "streamsql_task_slots_held",
        "Task slots held by real-time queries.",
        value=found.task_slots_held,
    )


def _fill(
    family: CounterMetricFamily | GaugeMetricFamily,
    values: Iterable[tuple[str, float | None]],
) -> None:
    for label, value in values:
        if value is not None:
            family.add_metric((label,), value)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


class Metrics:
    """Content of `/metrics`, and request counters."""

    def __init__(self, engine: Observed) -> None:
        self.http = HttpMetrics()
        self._registry: CollectorRegistry = self.http.registry
        self._registry.register(EngineCollector(engine))
        ProcessCollector(registry=self._registry)

    def text(self, accept: str) -> tuple[bytes, str]:
        """The metrics in the requested format, and its media type."""
        encoder, media_type = choose_encoder(accept)
        return encoder(self._registry), media_type
