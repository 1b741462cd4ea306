"""POST /ksql over HTTP, on a real broker and a real Spark."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from awaiting import await_until
from server.live import ROWS, LiveServer

from streamsql.tokens import from_token

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PATIENCE = 120.0


class Client:
    """One test's view of the server: `$x` becomes a name of its own."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http
        self._suffix = uuid.uuid4().hex[:8].upper()

    def name(self, name: str) -> str:
        return f"{name}_{self._suffix}"

    def post(self, sql: str, **more: Any) -> httpx2.Response:
        text = re.sub(r"\$(\w+)", lambda found: self.name(found[1].upper()), sql)
        return self.http.post("/ksql", json={"ksql": text, **more})

    def run(self, sql: str, **more: Any) -> list[dict[str, Any]]:
        answer = self.post(sql, **more)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found

    def one(self, sql: str, **more: Any) -> dict[str, Any]:
        (found,) = self.run(sql, **more)
        return found

    def drop_all(self) -> None:
        for type, kind in (("tables", "TABLE"), ("streams", "STREAM")):
            for source in self.one(f"SHOW {type.upper()};")[type]:
                if source["name"].endswith(self._suffix):
                    self.run(f"DROP {kind} {source['name']} DELETE TOPIC;")


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    client = Client(server.client)
    yield client
    client.drop_all()


SETUP = """
CREATE STREAM $s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE $t AS SELECT k, SUM(v) AS total FROM $s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;
"""


def test_a_query_is_made_told_of_paused_and_ended(client: Client) -> None:
    stream, table = client.run(SETUP)
    assert stream["commandId"] == f"stream/{client.name('S')}/create"
    assert stream["commandStatus"] == {
        "status": "SUCCESS",
        "message": "Stream created",
        "queryId": None,
    }
    query = table["commandStatus"]["queryId"]
    assert query.startswith(f"CTAS_{client.name('T')}_")
    assert table["commandSequenceNumber"] == stream["commandSequenceNumber"] + 1
    found = client.http.get(f"/status/{table['commandId']}").json()
    assert found == table["commandStatus"]
    assert client.http.get("/status").json()["commandStatuses"][stream["commandId"]] == "SUCCESS"
    assert client.http.get("/status/stream/NOTHING/create").status_code == 404
    explained = client.one(f"EXPLAIN {query};")["queryDescription"]
    assert (explained["windowType"], explained["sinks"]) == ("TUMBLING", [client.name("T")])
    assert explained["sources"] == [client.name("S")] and explained["state"] == "RUNNING"
    assert "Mode: real-time" in explained["executionPlan"]

    paused = client.one(f"PAUSE {query};")
    assert paused["commandId"] == f"pause/{query}/execute"
    assert [q["state"] for q in client.one("SHOW QUERIES;")["queries"] if q["id"] == query] == [
        "PAUSED"
    ]
    ended = client.one(f"TERMINATE {query};")["commandStatus"]
    assert ended == {"status": "SUCCESS", "message": f"Query {query} terminated.", "queryId": query}


def test_what_is_reported_of_a_source_and_its_query(client: Client) -> None:
    def description() -> dict[str, Any]:
        found: dict[str, Any] = client.one("DESCRIBE readings EXTENDED;")["sourceDescription"]
        return found

    def offset() -> int:
        (summary,) = description()["queryOffsetSummaries"]
        (topic,) = summary["topicSummaries"]
        return sum(o["consumerOffset"] or 0 for o in topic["offsets"])

    await_until(lambda: offset() >= len(ROWS), "the query to read the records", PATIENCE, every=0.5)
    stream = description()
    assert (stream["topic"], stream["partitions"]) == ("server_readings", 1)
    assert stream["replication"] == 1
    (reader,) = stream["readQueries"]
    assert reader["id"].startswith("CTAS_COUNTS_") and reader["sinks"] == ["COUNTS"]
    assert reader["statusCount"] == {"RUNNING": 1}
    assert reader in client.one("SHOW QUERIES;")["queries"]
    assert client.one("DESCRIBE counts;")["sourceDescription"]["writeQueries"] == [reader]
    lineage = client.one("SHOW LINEAGE OF counts.sensor;")
    related = {"name": "READINGS", "field": "SENSOR", "topic": "server_readings"}
    by = {"transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}], "queries": [reader["id"]]}
    assert lineage["fields"] == {"SENSOR": {"inputFields": [{**related, **by}]}}
    topics = client.one("SHOW TOPICS EXTENDED;")["topics"]
    (topic,) = (t for t in topics if t["name"] == "server_readings")
    assert topic["replicaInfo"] == [1] and topic["consumerCount"] >= 0


def test_an_insert_leaves_a_token(client: Client) -> None:
    client.run(
        "CREATE STREAM $s (v INT) WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    inserted = client.post("INSERT INTO $s VALUES (1); INSERT INTO $s VALUES (2);")
    assert inserted.json() == []
    assert from_token(inserted.headers["streamsql-token"]) == {client.name("S"): {0: 2}}


def test_the_first_that_fails_ends_the_request(client: Client) -> None:
    answer = client.post(
        "CREATE STREAM $s (v INT) WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "DROP TABLE $s; DROP STREAM $s;"
    )
    body = answer.json()
    assert (answer.status_code, body["@type"], body["error_code"]) == (
        400,
        "statement_error",
        40001,
    )
    assert body["statementText"] == f"DROP TABLE {client.name('S')};"
    assert [e["commandStatus"]["message"] for e in body["entities"]] == ["Stream created"]
    assert [s for s in client.one("SHOW STREAMS;")["streams"] if s["name"] == client.name("S")]


def test_asserted_topics(client: Client) -> None:
    assert client.one("ASSERT NOT EXISTS TOPIC '$s';")["exists"] is False
    failed = client.post("ASSERT TOPIC '$s' TIMEOUT 0 SECONDS;")
    assert (failed.status_code, failed.json()["error_code"]) == (417, 41700)


def test_a_request_comes_after_the_command_that_it_names(client: Client) -> None:
    number = client.one("CREATE TYPE $a AS INT;")["commandSequenceNumber"]
    (dropped,) = client.run("DROP TYPE $a;", commandSequenceNumber=number)
    assert dropped["commandSequenceNumber"] == number + 1


def test_sessions_are_a_requests_own(client: Client) -> None:
    found = client.run(
        "DEFINE n = 'x'; SHOW VARIABLES; SHOW PROPERTIES;",
        sessionVariables={"m": "y"},
        streamsProperties={"auto.offset.reset": "latest"},
    )
    assert found[0]["variables"] == [{"name": "M", "value": "y"}, {"name": "N", "value": "x"}]
    values = {p["name"]: p["value"] for p in found[1]["properties"]}
    assert values["auto.offset.reset"] == "latest"
    assert "auto.offset.reset" in found[1]["overwrittenProperties"]
    assert client.one("SHOW VARIABLES;")["variables"] == []
