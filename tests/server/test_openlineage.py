"""The events for a lineage backend: a server that records them, and an engine's real plans."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from engine.offline import Offline
from openlineage.client.transport.http import HttpTransport

from streamsql.api.inspection import Inspection
from streamsql.cli.execution.openlineage import reporting
from streamsql.errors import ConfigError
from streamsql.log.entries import Entry, FileLog
from streamsql.server.telemetry.openlineage import LineageReporter
from streamsql.status import QueryInfo, QueryState

STREAM = (
    "CREATE STREAM sales (shop STRING KEY, price INT, note STRING)"
    " WITH (KAFKA_TOPIC='sold', PARTITIONS=1, VALUE_FORMAT='JSON');"
)
TABLE = (
    "CREATE TABLE takings AS"
    " SELECT shop, SUM(price) AS total FROM sales WHERE note <> 'x' GROUP BY shop;"
)
ID = "CTAS_TAKINGS_2"
KAFKA = "kafka://kafka-1:9092"


class Backend:
    """Records the events, while it `takes` them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.takes = True
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if backend.takes:
                    assert self.path == "/api/v1/lineage"
                    backend.events.append(json.loads(body))
                    backend.keys.append(self.headers["Authorization"])
                self.send_response(201 if backend.takes else 503)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def told(self) -> list[str]:
        return [event["eventType"] for event in self.events]


class Stand(Inspection):
    """An engine's, whose queries stand as is said here."""

    def __init__(self, offline: Offline) -> None:
        super().__init__(offline.state)
        self.now: dict[str, QueryInfo] = {
            info.id: replace(info, state=QueryState.RUNNING) for info in super().infos()
        }

    def infos(self) -> list[QueryInfo]:
        return [*self.now.values()]

    def bootstrap_servers(self) -> str | None:
        return "kafka-1:9092,kafka-2:9092"

    def stands(self, **changes: Any) -> None:
        self.now[ID] = replace(self.now[ID], **changes)


@pytest.fixture
def backend() -> Iterator[Backend]:
    backend = Backend()
    thread = threading.Thread(target=backend.server.serve_forever, args=(0.01,))
    thread.start()
    yield backend
    backend.server.shutdown()
    thread.join()
    backend.server.server_close()


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    log = FileLog(tmp_path / "statements.log")
    log.append(Entry(1, STREAM))
    log.append(Entry(2, TABLE, query_id=ID))
    log.close()
    with Offline(tmp_path) as offline:
        yield Stand(offline)


def test_what_is_reported_of_a_query(
    stand: Stand, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "secret")
    LineageReporter(stand, backend.url, "shop").look()
    (event,) = backend.events
    assert backend.keys == ["Bearer secret"]
    assert (event["eventType"], event["job"]["namespace"], event["job"]["name"]) == (
        *("START", "shop", ID),
    )
    facets = event["job"]["facets"]
    assert facets["jobType"]["processingType"] == "STREAMING"
    assert "SUM(price)" in facets["sql"]["query"]
    (read,), (written,) = event["inputs"], event["outputs"]
    assert (read["namespace"], read["name"]) == (KAFKA, "sold")
    columns = [(f["name"], f["type"]) for f in read["facets"]["schema"]["fields"]]
    assert columns == [("SHOP", "STRING"), ("PRICE", "INTEGER"), ("NOTE", "STRING")]
    assert (written["namespace"], written["name"]) == (KAFKA, "TAKINGS")
    lineage = written["facets"]["columnLineage"]

    def shown(fields: list[dict[str, Any]]) -> list[tuple[str, ...]]:
        assert {(f["namespace"], f["name"]) for f in fields} == {(KAFKA, "sold")}
        return [(f["field"], t["type"], t["subtype"]) for f in fields for t in f["transformations"]]

    assert {name: shown(f["inputFields"]) for name, f in lineage["fields"].items()} == {
        "SHOP": [("SHOP", "DIRECT", "IDENTITY")],
        "TOTAL": [("PRICE", "DIRECT", "AGGREGATION")],
    }
    assert shown(lineage["dataset"]) == [
        ("NOTE", "INDIRECT", "FILTER"),
        ("SHOP", "INDIRECT", "GROUP_BY"),
    ]


@pytest.mark.parametrize(
    ("properties", "namespace", "name"),
    [
        ("CONNECTION='FILE', PATH='/data/shops'", "file", "/data/shops"),
        ("CONNECTION='FILE', PATH='hdfs://host:8020/shops'", "hdfs://host:8020", "/shops"),
        (
            "CONNECTION='JDBC', URL='jdbc:postgresql://h/db?ssl=true', DBTABLE='\"a\".shops'",
            *("postgres://h:5432", "db.a.shops"),
        ),
        (
            "CONNECTION='JDBC', URL='jdbc:postgresql://h:5433/db', DBTABLE='shops'",
            *("postgres://h:5433", "db.public.shops"),
        ),
    ],
)
def test_what_is_looked_up(
    tmp_path: Path, backend: Backend, properties: str, namespace: str, name: str
) -> None:
    table = f"CREATE SOURCE TABLE shops (id STRING PRIMARY KEY, city STRING) WITH ({properties});"
    query = "CREATE STREAM placed AS SELECT shop, city FROM sales JOIN shops ON shop = shops.id;"
    log = FileLog(tmp_path / "statements.log")
    log.append(Entry(1, STREAM))
    log.append(Entry(2, table))
    log.append(Entry(3, query, query_id="CSAS_PLACED_3"))
    log.close()
    with Offline(tmp_path) as offline:
        LineageReporter(Stand(offline), backend.url, "shop").look()
    (event,) = backend.events
    places = [(read["namespace"], read["name"]) for read in event["inputs"]]
    assert places == [(KAFKA, "sold"), (namespace, name)]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    (city,) = fields["CITY"]["inputFields"]
    assert (city["namespace"], city["name"], city["field"]) == (namespace, name, "CITY")


def test_a_run_is_reported_from_its_start_to_its_end(stand: Stand, backend: Backend) -> None:
    reporter = LineageReporter(stand, backend.url, "shop")
    stand.stands(state=QueryState.STARTING)
    reporter.look()
    assert backend.told() == []
    for state in (QueryState.CATCHING_UP, QueryState.RUNNING, QueryState.PAUSED):
        stand.stands(state=state)
        reporter.look()
    assert backend.told() == ["START"]
    stand.stands(state=QueryState.ERROR, error="it is broken")
    reporter.look()
    reporter.look()
    assert backend.told() == ["START", "FAIL"]
    failed = backend.events[-1]
    assert failed["run"]["facets"]["errorMessage"]["message"] == "it is broken"
    assert failed["run"]["runId"] == backend.events[0]["run"]["runId"]
    stand.stands(state=QueryState.RUNNING, error=None)
    reporter.look()
    stand.stands(sql="CREATE TABLE takings AS SELECT 1;")
    reporter.look()
    assert backend.told()[2:] == ["START", "COMPLETE", "START"]
    runs = [event["run"]["runId"] for event in backend.events]
    assert runs[2] == runs[3]
    assert len({*runs}) == 3
    del stand.now[ID]
    reporter.look()
    reporter.abort()
    assert backend.told()[5:] == ["COMPLETE"]


def test_what_another_server_runs_is_none_of_ours(stand: Stand, backend: Backend) -> None:
    reporter = LineageReporter(stand, backend.url, "shop")
    reporter.look()
    stand.stands(state=QueryState.STANDBY)
    reporter.look()
    reporter.look()
    assert backend.told() == ["START", "ABORT"]


def test_what_a_backend_does_not_take_is_reported_later(stand: Stand, backend: Backend) -> None:
    reporter = LineageReporter(stand, backend.url, "shop")
    backend.takes = False
    with pytest.raises(Exception, match="503"):
        reporter.look()
    backend.takes = True
    reporter.look()
    assert backend.told() == ["START"]
    backend.takes = False
    del stand.now[ID]
    with pytest.raises(Exception, match="503"):
        reporter.look()
    backend.takes = True
    reporter.look()
    assert backend.told() == ["START", "COMPLETE"]


def test_a_server_that_ends(stand: Stand, backend: Backend) -> None:
    reporter = LineageReporter(stand, backend.url, "shop")
    reporter.look()
    reporter.start()
    reporter.close()
    assert backend.told() == ["START", "ABORT"]


def test_no_url_no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENLINEAGE_URL", raising=False)
    monkeypatch.setattr(HttpTransport, "__init__", lambda *_: pytest.fail("it was not requested"))
    with reporting(None, None, "default_"):  # type: ignore[arg-type]
        pass
    with pytest.raises(ConfigError, match="not the URL"), reporting("x", None, "s"):  # type: ignore[arg-type]
        pass
