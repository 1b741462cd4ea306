"""`streamsql run`: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from awaiting import await_until

from streamsql.cli.main import main
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SECONDS = 300.0
ROOT = Path(__file__).parents[2]
ROWS = "1 of them INSERTs of rows, which are not written again."


def command(data: Path, kafka: KafkaClient, *arguments: str) -> list[str]:
    common = ["--data", str(data), "--bootstrap-servers", kafka.bootstrap]
    return [sys.executable, "-m", "streamsql.cli.main", *arguments, *common]


@pytest.fixture
def script(kafka: KafkaClient, topic_name: str, tmp_path: Path) -> Path:
    """Doubles the numbers of a topic that holds a hundred."""
    kafka.create_topic(topic_name, 1)
    rows = (json.dumps({"n": n}).encode() for n in range(100))
    kafka.produce(topic_name, [NewRecord(None, row) for row in rows])
    file = tmp_path / "double.sql"
    file.write_text(
        f"""
        CREATE STREAM numbers (n INT) WITH (KAFKA_TOPIC = '{topic_name}', VALUE_FORMAT = 'JSON');
        CREATE STREAM doubled WITH (KAFKA_TOPIC = '{topic_name}-doubled') AS
          SELECT n * ${{factor}} AS n FROM numbers;
        """
    )
    return file


def doubled(kafka: KafkaClient, topic: str) -> list[int]:
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    return [json.loads(record.value or b"")["N"] for record in records]


def test_run_until_caught_up(
    kafka: KafkaClient,
    topic_name: str,
    script: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, whose Spark is warm."""
    arguments = ["run", str(script), "--until-caught-up", "-d", "factor=2"]
    _, _, _, *options = command(tmp_path / "data", kafka, *arguments)
    assert main(options) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[0] == "Stream created"
    assert printed.out.splitlines()[-1] == "1 query caught up"
    assert doubled(kafka, f"{topic_name}-doubled") == [2 * n for n in range(100)]


@pytest.mark.slow
def test_a_file_is_run_until_a_crash_and_again_until_sigterm(
    kafka: KafkaClient, topic_name: str, script: Path, tmp_path: Path
) -> None:
    with script.open("a") as file:
        file.write("INSERT INTO numbers VALUES (1000);")

    def run(factor: int) -> subprocess.Popen[str]:
        arguments = ["run", str(script), "-d", f"factor={factor}"]
        return subprocess.Popen(
            command(tmp_path / "data", kafka, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )

    def lines_until(process: subprocess.Popen[str], last: str) -> list[str]:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith(last):
                break
        return lines

    def has_doubled(process: subprocess.Popen[str], number: int) -> bool:
        assert process.poll() is None
        return 2 * number in doubled(kafka, f"{topic_name}-doubled")

    outputs = (
        ["Stream created", "Created query with ID CSAS_DOUBLED_0"],
        ["3 statements have already been run, " + ROWS],
    )
    for number, expected in enumerate(outputs, 1):
        process = run(2)
        killer = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        try:
            lines = lines_until(process, "1 query running")
            assert [line for line in lines if line] == [*expected, "1 query running. Ctrl-C ends."]
            sent = 5000 + number
            kafka.produce(topic_name, [NewRecord(None, b'{"n": %d}' % sent)])
            await_until(partial(has_doubled, process, sent), f"{sent} doubled", SECONDS, every=0.1)
            if number == 2:
                process.send_signal(signal.SIGTERM)
                rest, errors = process.communicate(timeout=SECONDS)
                assert (process.returncode, rest.strip(), errors) == (0, "Stopping.", "")
        finally:
            killer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert kafka.end_offsets(topic_name) == {0: 101 + number}, "the row was written once"

    process = run(3)
    output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, output) == (1, "")
    assert errors.splitlines()[:2] == [
        f"{script}:3:9: catalog error: DOUBLED exists with another definition",
        f"          CREATE STREAM doubled WITH (KAFKA_TOPIC = '{topic_name}-doubled') AS",
    ]
    assert "SELECT N * 2 AS N" in errors and "SELECT N * 3 AS N" in errors


def test_an_error_ends_a_script_with_its_place(
    kafka: KafkaClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, whose Spark is warm."""
    file = tmp_path / "wrong.sql"
    file.write_text("SHOW VARIABLES;\n\nSELECT * FROM nothing EMIT CHANGES;\nSHOW STREAMS;\n")
    arguments = ["run", str(file), "--output", "json"]
    _, _, _, *options = command(tmp_path / "data", kafka, *arguments)
    assert main(options) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[:3] == [
        f"{file}:3:15: catalog error: NOTHING does not exist.",
        "  SELECT * FROM nothing EMIT CHANGES;",
        "                ^^^^^^^",
    ]
    assert "Traceback" not in printed.err
