"""`streamsql test`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from interrupts import heed_interrupts

from streamsql.cli.main import main
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SECONDS = 300.0
ROOT = Path(__file__).parents[2]

STREAM = "CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
DOUBLED = "CREATE STREAM D AS SELECT K, N * 2 AS N FROM S;"
ONE = [{"topic": "in", "key": "a", "value": {"N": 1}, "timestamp": 0}]


def case(name: str, *statements: str, **more: object) -> dict[str, object]:
    return {"name": name, "statements": [STREAM, *statements], **more}


def doubled(value: object) -> list[dict[str, object]]:
    return [{"topic": "D", "key": "a", "value": value, "timestamp": 0}]


TESTS = [
    case("right", DOUBLED, inputs=ONE, outputs=doubled({"N": 2})),
    case("wrong", DOUBLED, inputs=ONE, outputs=doubled({"N": 3})),
    case("rejected", "SELECT X FROM S EMIT CHANGES;", expectedException={"message": "'X'"}),
    case("not rejected", DOUBLED, expectedException={"message": "no"}),
    case(
        "unreadable",
        "CREATE STREAM C AS SELECT * FROM S;",
        inputs=[{"topic": "in", "value": {"N": "x"}}],
        outputs=[{"topic": "C", "value": {"N": 1}}],
    ),
    case("elsewhere", needs=["something"]),
    case(
        "in order across topics",
        "CREATE TABLE T (K STRING PRIMARY KEY, M INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');",
        "CREATE STREAM J AS SELECT S.K, N, M FROM S LEFT JOIN T ON S.K = T.K;",
        inputs=[
            *ONE,
            {"topic": "t", "key": "a", "value": {"M": 5}},
            *ONE,
            {"topic": "t", "key": "a", "value": None},
            *ONE,
        ],
        outputs=[
            {"topic": "J", "key": "a", "value": {"N": 1, "M": m}, "timestamp": 0}
            for m in (None, 5, None)
        ],
    ),
]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streamsql.cli.main", "test", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=ROOT,
        env=environment,
        check=False,
    )


def run_here(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """In this process, whose Spark is warm."""
    code = main(["test", *map(str, arguments)])
    return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())


def test_results_reports_and_exit_code(
    tmp_path: Path, kafka: KafkaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"tests": TESTS}))
    report, junit = tmp_path / "report.jsonl", tmp_path / "junit.xml"
    before = set(kafka.topics())
    servers = ["--bootstrap-servers", kafka.bootstrap]
    done = run_here(capsys, file, "--report", report, "--junit", junit, *servers)
    assert done.returncode == 1, done.stderr
    results = {r["name"]: r for r in map(json.loads, report.read_text().splitlines())}
    assert {name: r["status"] for name, r in results.items()} == {
        "right": "passed",
        "wrong": "failed",
        "rejected": "passed",
        "not rejected": "failed",
        "unreadable": "failed",
        "elsewhere": "skipped",
        "in order across topics": "passed",
    }
    assert 'D: key "a": expected {"N": 3} at 0, found {"N": 2} at 0' in done.stdout
    assert "processing log: CSAS_C_0 at in, offset 0: " in done.stdout
    assert "3 passed, 3 failed, 1 skipped" in done.stdout
    assert "right" not in done.stdout
    actual = {"topic": "D", "key": "a", "value": {"N": 2}, "timestamp": 0}
    assert results["right"]["actual"] == [{**actual, "window": None, "headers": []}]
    assert results["rejected"]["message_matches"] is True
    assert "'X'" in results["rejected"]["error"]
    assert results["not rejected"]["message_matches"] is False
    assert ElementTree.parse(junit).getroot().get("failures") == "3"
    deadline = time.monotonic() + 30
    while set(kafka.topics()) - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert set(kafka.topics()) <= before


def test_the_examples_pass(
    kafka: KafkaClient, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    servers = ["--bootstrap-servers", kafka.bootstrap]
    examples = ["examples/wordcount", "examples/pageviews"]
    done = run_here(capsys, *examples, "-v", "--compare", "final", *servers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED wordcount" in done.stdout and "PASSED tests/a view" in done.stdout


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The process, which ends with the block: a test that fails does not wait for it."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, preexec_fn=heed_interrupts
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_ctrl_c_ends_it(tmp_path: Path, kafka: KafkaClient) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"tests": [{**TESTS[0], "name": str(n)} for n in range(500)]}))
    report = tmp_path / "report.jsonl"
    command = [
        sys.executable,
        "-m",
        "streamsql.cli.main",
        "test",
        str(file),
        "--report",
        str(report),
    ]
    servers = ["--bootstrap-servers", kafka.bootstrap]
    with started([*command, *servers]) as process:
        deadline = time.monotonic() + SECONDS
        while not (report.exists() and report.read_text().count("\n") > 2):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "not run" in out and "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json does not exist"),
        (["examples", "-k", "no such test"], "no matching tests"),
    ],
)
def test_nothing_to_run(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
