"""How queries, stores and the server itself are, as Prometheus reads it.

Everything is looked up when it is asked for. Push queries are only counted: they come and go, and
a series for each would never end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
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

_QUERY = ("query_id",)
_TABLE = ("table",)


class Observed(Protocol):
    """What this needs of an Engine."""

    def startup(self) -> StartupStatus:
        """How far the start is."""

    def queries(self) -> Sequence[QueryInfo]:
        """The queries that there are."""

    def query_metrics(self) -> Mapping[str, QueryMetrics]:
        """What they have done, by their ids."""

    def stores(self) -> Sequence[StoreInfo]:
        """The stores of served tables."""

    def resources(self) -> Resources:
        """What the engine may take of its machine."""


class EngineCollector(Collector):
    """The numbers of one engine."""

    def __init__(self, engine: Observed) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All metrics of the engine, as they are now."""
        about = {"version": version("streamsql")}
        yield InfoMetricFamily("streamsql_build", "What runs here.", about)
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
    family = GaugeMetricFamily("streamsql_queries", "Queries there are.", labels=("type", "state"))
    kinds = {"PERSISTENT", "PUSH"}
    for kind in sorted(kinds):
        for state in QueryState:
            number = sum(i.kind == kind and i.state is state for i in infos)
            family.add_metric((kind.lower(), state.value.lower()), number)
    return family


def _states(infos: Sequence[QueryInfo]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "streamsql_query_state",
        "1 for the state that a query is in, 0 for the others.",
        labels=(*_QUERY, "state"),
    )
    mode = GaugeMetricFamily(
        "streamsql_query_mode",
        "1 for the mode in which a query runs once it has caught up.",
        labels=(*_QUERY, "mode"),
    )
    lag = GaugeMetricFamily(
        "streamsql_query_lag_records", "Records that are not yet processed.", labels=_QUERY
    )
    for info in infos:
        for possible in QueryState:
            state.add_metric((info.id, possible.value.lower()), float(info.state is possible))
        mode.add_metric((info.id, info.mode), 1.0)
        if info.lag is not None:
            lag.add_metric((info.id,), info.lag)
    yield from (state, mode, lag)


Number = Callable[[QueryMetrics], float | None]

_COUNTERS: tuple[tuple[str, str, Number], ...] = (
    ("records_in", "Records that have been read.", lambda m: m.records_in),
    ("bytes_in", "Bytes of keys and values that have been read.", lambda m: m.bytes_in),
    ("records_out", "Records that have been written.", lambda m: m.records_out),
    ("bytes_out", "Bytes of keys and values that have been written.", lambda m: m.bytes_out),
    ("errors", "Records that failed and are in the processing log.", lambda m: m.errors),
    ("rows_late", "Rows that came after their window had closed.", lambda m: m.rows_late),
    ("records_lost", "Records that were deleted before they were read.", lambda m: m.records_lost),
    ("batches", "Batches that have ended.", lambda m: m.batches),
)
_GAUGES: tuple[tuple[str, str, Number], ...] = (
    ("batch_seconds", "How long the last batch took.", lambda m: _seconds(m.batch_ms)),
    ("state_rows", "Entries that the query keeps.", lambda m: m.state_rows),
    ("state_memory_bytes", "Memory of the query's state.", lambda m: m.state_memory_bytes),
    ("state_disk_bytes", "Files of the query's state.", lambda m: m.state_disk_bytes),
    (
        "last_output_timestamp_seconds",
        "When the last record was written, in seconds since 1970.",
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
        "From the timestamp of a result's record to its being in Kafka.",
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
        "The same of the last minute and the last hour: the latency of that share of the results.",
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
        "Records of its topic that a table's store has yet to take in.",
        labels=_TABLE,
    )
    rows = GaugeMetricFamily(
        "streamsql_store_rows", "Rows of a table's store, about.", labels=_TABLE
    )
    found = list(stores)
    _fill(lag, ((store.table, store.lag) for store in found))
    _fill(rows, ((store.table, store.rows) for store in found))
    yield from (lag, rows)


def _resources(found: Resources) -> Iterator[Metric]:
    yield GaugeMetricFamily("streamsql_cpus", "CPUs that may be used.", value=found.cpus)
    memory = GaugeMetricFamily(
        "streamsql_memory_limit_bytes",
        "The machine's memory, and how much of it each part may take: tables is a part of heap.",
        labels=("part",),
    )
    for part, megabytes in found.memory_mb.items():
        memory.add_metric((part,), megabytes << 20)
    yield memory
    disk = GaugeMetricFamily(
        "streamsql_disk_free_bytes",
        "Free where the data and the checkpoints are.",
        labels=("folder",),
    )
    _fill(disk, found.disk_free.items())
    yield disk
    slots = GaugeMetricFamily("streamsql_task_slots", "Tasks that can run at a time.")
    if found.task_slots is not None:
        slots.add_metric((), found.task_slots)
    yield slots
    yield GaugeMetricFamily(
        "streamsql_task_slots_held",
        "Of these, those that queries in real time hold.",
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
    """All that `/metrics` tells, and what counts the requests."""

    def __init__(self, engine: Observed) -> None:
        self.http = HttpMetrics()
        self._registry: CollectorRegistry = self.http.registry
        self._registry.register(EngineCollector(engine))
        ProcessCollector(registry=self._registry)

    def text(self, accept: str) -> tuple[bytes, str]:
        """The metrics in the format that is asked for, and its media type."""
        encoder, media_type = choose_encoder(accept)
        return encoder(self._registry), media_type
