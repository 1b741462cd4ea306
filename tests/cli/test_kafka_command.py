"""`streamsql kafka` as somebody uses it: start, status, load into it, stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.cli.main import main

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
    finally:
        assert main(["kafka", "stop", *data]) == 0
    assert "Kafka stopped" in capsys.readouterr().out
    assert main(["kafka", "stop", *data]) == 0
    assert capsys.readouterr().out == "Kafka was not running\n"
