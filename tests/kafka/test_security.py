"""A Kafka with TLS and a login, configured in one file that all clients use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.secured_broker import secured_broker, security

from streamsql.cli.main import main
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STATEMENTS = """
CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='s', value_format='json', partitions=1);
INSERT INTO s (k, v) VALUES ('a', 1);
CREATE TABLE t AS SELECT k, SUM(v) AS total FROM s GROUP BY k;
SELECT * FROM t EMIT CHANGES LIMIT 1;
PRINT 'streamsql_processing_log' FROM BEGINNING LIMIT 1;
SELECT * FROM t WHERE k = 'a';
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as found:
        yield found


def test_the_whole_engine_logs_in(
    secured: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, whose Spark is warm."""
    servers, ca = secured
    client = KafkaClient(servers, security=security(ca))
    client.create_topic("s")
    client.produce("s", [NewRecord(b"bad", b"{no json")])
    file = tmp_path / "client.properties"
    settings = {"bootstrap.servers": servers, **security(ca)}
    lines = (f"{name}={value}\n" for name, value in settings.items())
    file.write_text("".join(lines).replace("\\", "\\\\"))
    options = ["--data", str(tmp_path / "data"), "--kafka-config", str(file), "--output", "json"]
    assert main([*options, "-e", STATEMENTS]) == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines() if line.startswith("{")]
    assert {"K": "a", "TOTAL": 1} in rows
    assert rows.count({"K": "a", "TOTAL": 1}) == 2, "the push query's row and the pull query's"
    assert "deserializationError" in printed.out
    assert "pa;ss" not in printed.out + printed.err


def test_a_wrong_password_is_reported(secured: tuple[str, Path]) -> None:
    servers, ca = secured
    client = KafkaClient(servers, security=security(ca, "wrong"))
    assert not client.reachable(2.0)
    assert client.trouble is not None and "uthentication" in client.trouble
    assert "wrong" not in client.trouble


def test_a_certificate_of_an_unknown_authority_is_reported(
    secured: tuple[str, Path], tmp_path: Path
) -> None:
    import trustme

    servers, _ = secured
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    client = KafkaClient(servers, security=security(other))
    assert not client.reachable(2.0)
    assert client.trouble is not None and "certificate" in client.trouble.lower()
