"""`streamsql kafka` as users run it: start, status, load into it, stop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from streamsql.cli.main import main
from streamsql.data_folder import DataDir
from streamsql.kafka.broker import broker_status

pytestmark = pytest.mark.kafka


def test_start_status_load_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path / "data")]
    assert main(["kafka", "status", *data]) == 1
    assert "Kafka is not running" in capsys.readouterr().out
    try:
        assert main(["kafka", "start", *data]) == 0
        assert "Kafka runs at 127.0.0.1:" in capsys.readouterr().out
        file = tmp_path / "a.csv"
        file.write_text("a\n1\n2\n")
        assert main(["load", str(file), "--topic", "t", *data]) == 0
        assert "2 records in" in capsys.readouterr().err
        assert main(["kafka", "status", *data]) == 0
        _transactions(data, capsys)
    finally:
        assert main(["kafka", "stop", *data]) == 0
    assert "Kafka stopped" in capsys.readouterr().out
    assert main(["kafka", "stop", *data]) == 0
    assert capsys.readouterr().out == "Kafka was not running\n"


def _transactions(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = broker_status(DataDir.at(data[1]))
    assert status.bootstrap is not None
    settings = {"bootstrap.servers": status.bootstrap, "transactional.id": "mine"}
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"never seen")
    producer.flush(30)
    capsys.readouterr()
    assert main(["kafka", "transactions", "list", *data]) == 0
    assert re.match(r"mine: Ongoing since .* UTC, 1 partitions$", capsys.readouterr().out.strip())
    assert main(["kafka", "transactions", "abort", "mine", *data]) == 0
    with pytest.raises(KafkaException, match="fenced|epoch"):
        producer.commit_transaction(30)
    assert main(["kafka", "transactions", "list", *data]) == 0
    assert "Ongoing" not in capsys.readouterr().out
    assert main(["kafka", "transactions", "abort", *data]) == 1
    assert "abort requires ids" in capsys.readouterr().err
