"""What a monitoring system reads of queries, stores and requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from streamsql.server.middleware.request_log import Paths, RequestLog
from streamsql.server.telemetry.http_metrics import HttpMetrics
from streamsql.server.telemetry.metrics import Metrics
from streamsql.status import (
    Latency,
    Percentiles,
    QueryInfo,
    QueryMetrics,
    QueryState,
    Resources,
    StartupStatus,
    StoreInfo,
)


@dataclass
class Numbers:
    """An engine's numbers, as they are given."""

    infos: Sequence[QueryInfo] = ()
    found: Mapping[str, QueryMetrics] = field(default_factory=dict)
    served: Sequence[StoreInfo] = ()

    def startup(self) -> StartupStatus:
        return StartupStatus(())

    def queries(self) -> Sequence[QueryInfo]:
        return self.infos

    def query_metrics(self) -> Mapping[str, QueryMetrics]:
        return self.found

    def stores(self) -> Sequence[StoreInfo]:
        return self.served

    def resources(self) -> Resources:
        return Resources(2, {"machine": 8000, "heap": 2000}, 1024, 4, {"data": 9})


def info(id: str, state: QueryState, lag: int | None, kind: str = "PERSISTENT") -> QueryInfo:
    return QueryInfo(id, kind, state, "real-time", "", lag, "SELECT 1;", None)


def samples(metrics: Metrics) -> dict[str, float]:
    """Values by name and labels: `name{label=value,...}`."""
    text, media_type = metrics.text("text/plain")
    assert media_type.startswith("text/plain")
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_queries() -> None:
    counted = QueryMetrics(
        records_in=10,
        bytes_in=200,
        records_out=4,
        bytes_out=80,
        errors=1,
        rows_late=2,
        violations={"S.POSITIVE": 6},
        records_lost=5,
        last_out_ms=1_700_000_000_500,
        latency=Latency((1, 10), (3, 1, 0), 15),
        recent={"1m": Percentiles(4, 3, 9, 12, 15), "1h": Percentiles(9, 3, 9, 2500, 2600)},
        batches=2,
        batch_ms=250,
        state_rows=7,
        state_memory_bytes=1000,
        state_disk_bytes=2000,
    )
    elsewhere = QueryMetrics(3, None, None, None, None)
    found = samples(
        Metrics(
            Numbers(
                [
                    info("CTAS_A_1", QueryState.RUNNING, 6),
                    info("CSAS_B_2", QueryState.ERROR, None),
                    info("CSAS_C_3", QueryState.STARTING, None),
                    info("transient_S_1", QueryState.RUNNING, None, "PUSH"),
                ],
                {"CTAS_A_1": counted, "CSAS_B_2": elsewhere, "transient_S_1": counted},
            )
        )
    )
    assert found["streamsql_ready{}"] == 1
    assert found["streamsql_cpus{}"] == 2
    assert found["streamsql_memory_limit_bytes{part=heap}"] == 2000 << 20
    assert found["streamsql_task_slots{}"] == 1024
    assert found["streamsql_disk_free_bytes{folder=data}"] == 9
    assert found["streamsql_task_slots_held{}"] == 4
    assert found["streamsql_queries{state=running,type=persistent}"] == 1
    assert found["streamsql_queries{state=running,type=push}"] == 1
    assert found["streamsql_queries{state=error,type=persistent}"] == 1
    assert found["streamsql_query_state{query_id=CSAS_B_2,state=error}"] == 1
    assert found["streamsql_query_state{query_id=CSAS_B_2,state=running}"] == 0
    assert found["streamsql_query_mode{mode=real-time,query_id=CTAS_A_1}"] == 1
    labels = "constraint=S.POSITIVE,query_id=CTAS_A_1"
    assert found[f"streamsql_query_constraint_violations_total{{{labels}}}"] == 6
    quantiles = {name: value for name, value in found.items() if "latency_quantile_seconds" in name}
    assert quantiles == {
        f"streamsql_query_latency_quantile_seconds{{quantile={q},query_id=CTAS_A_1,window={w}}}": v
        for w, q, v in (
            ("1m", "0.5", 0.003),
            ("1m", "0.95", 0.009),
            ("1m", "0.99", 0.012),
            ("1h", "0.5", 0.003),
            ("1h", "0.95", 0.009),
            ("1h", "0.99", 2.5),
        )
    }
    expected = {
        "lag_records": 6,
        "records_in_total": 10,
        "bytes_in_total": 200,
        "records_out_total": 4,
        "bytes_out_total": 80,
        "errors_total": 1,
        "rows_late_total": 2,
        "records_lost_total": 5,
        "batches_total": 2,
        "batch_seconds": 0.25,
        "state_rows": 7,
        "state_memory_bytes": 1000,
        "state_disk_bytes": 2000,
        "last_output_timestamp_seconds": 1_700_000_000.5,
        "latency_seconds_count": 4,
        "latency_seconds_sum": 0.015,
    }
    own = {
        name.removeprefix("streamsql_query_").split("{")[0]: value
        for name, value in found.items()
        if name.endswith("{query_id=CTAS_A_1}")
    }
    assert own == expected
    buckets = {
        name: value for name, value in found.items() if "_query_latency_seconds_bucket" in name
    }
    assert [*buckets.values()] == [3, 4, 4]
    # Unknown values are omitted, not reported as zero.
    assert found["streamsql_query_records_in_total{query_id=CSAS_B_2}"] == 3
    assert "streamsql_query_records_out_total{query_id=CSAS_B_2}" not in found
    assert not any("CSAS_C_3" in n and "_total" in n for n in found)
    assert not any("transient" in name for name in found)


def test_stores() -> None:
    found = samples(Metrics(Numbers(served=[StoreInfo("T", 5, 100), StoreInfo("U", None, 0)])))
    assert found["streamsql_store_lag_records{table=T}"] == 5
    assert found["streamsql_store_rows{table=T}"] == 100
    assert "streamsql_store_lag_records{table=U}" not in found


def test_open_metrics_for_who_asks_for_them() -> None:
    text, media_type = Metrics(Numbers()).text("application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")


async def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


async def fail(request: Request) -> Response:
    raise RuntimeError("a bug")


@pytest.fixture
def http() -> HttpMetrics:
    return HttpMetrics()


@pytest.fixture
def client(http: HttpMetrics) -> TestClient:
    routes = [Route("/hello", hello), Route("/status/{id:path}", hello), Route("/fail", fail)]
    observe = Middleware(RequestLog, metrics=http, paths=Paths(routes), log_all=False)
    app = Starlette(routes=routes, middleware=[observe])
    return TestClient(app, raise_server_exceptions=False)


def test_requests_are_counted_by_path(client: TestClient, http: HttpMetrics) -> None:
    for path in ("/hello", "/hello", "/status/a", "/status/b/c", "/made/up", "/up/made", "/fail"):
        client.get(path)
    client.request("BREW", "/hello")

    def count(path: str, method: str, status: int) -> float | None:
        labels = {"path": path, "method": method, "status": str(status)}
        return http.registry.get_sample_value("streamsql_http_requests_total", labels)

    assert count("/hello", "GET", 200) == 2
    assert count("/status/{id:path}", "GET", 200) == 2
    assert count("other", "GET", 404) == 2
    assert count("/fail", "GET", 500) == 1
    assert count("/hello", "other", 405) == 1
    created = (f.name for f in http.registry.collect() for s in f.samples if "_created" in s.name)
    assert not any(created)
    running = "streamsql_http_requests_running"
    assert http.registry.get_sample_value(running, {"path": "/hello"}) == 0
    seconds = "streamsql_http_request_seconds_count"
    assert http.registry.get_sample_value(seconds, {"path": "/hello"}) == 3


def test_every_answer_has_an_id(client: TestClient) -> None:
    given = client.get("/hello", headers={"X-Request-ID": "my-id:1"})
    assert given.headers["X-Request-ID"] == "my-id:1"
    first, second = (client.get("/hello").headers["X-Request-ID"] for _ in range(2))
    assert len(first) == 32 and first != second
    bad = client.get("/hello", headers={"X-Request-ID": "no\tgood id"})
    assert len(bad.headers["X-Request-ID"]) == 32
