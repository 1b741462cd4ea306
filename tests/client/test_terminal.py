"""`streamsql connect` in a real terminal, over a server with real Kafka and Spark."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import PROMPT, PROMPT_SECONDS, Terminal

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROW_SECONDS = 120.0


@pytest.fixture
def terminal(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    terminal = Terminal(["connect", server])
    try:
        yield terminal
    finally:
        terminal.kill()


def test_a_session(terminal: Terminal, topic_name: str, server: str, tmp_path: Path) -> None:
    terminal.see(f"connected to {server}", PROMPT_SECONDS)
    terminal.see(PROMPT, PROMPT_SECONDS)
    # No JVM, and none of what belongs to the engine: the process has no child and little memory.
    children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children")
    assert not children.exists() or children.read_text() == ""

    terminal.enter("CREATE STREAM distant (id INT KEY, celsius DOUBLE)")
    terminal.see("· ")
    terminal.enter(f"WITH (KAFKA_TOPIC = '{topic_name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);")
    terminal.see("Stream created", ROW_SECONDS)
    terminal.enter("SELCT 1;")
    terminal.see(r"syntax error at line 1, column 1: unknown statement SELCT")
    terminal.see("Did you mean SELECT")

    # A script is a file of this side; what it defines stays in this session.
    script = tmp_path / "script.sql"
    script.write_text("DEFINE warm = '21.5';\nINSERT INTO distant VALUES (7, ${warm});\n")
    terminal.enter(f"RUN SCRIPT '{script}';")
    terminal.see("Variable WARM defined")

    # Tab completes the names of what was made a moment ago, over the network.
    terminal.enter("DESCR\t dis\t;")
    terminal.see("CELSIUS")
    terminal.enter("SELE\t cels\t FROM distant WHERE celsius = ${warm} EMIT CHANGES;")
    terminal.see(r"─\s+21\.5", ROW_SECONDS)
    began = time.monotonic()
    terminal.interrupt()
    terminal.see("Query ended", 10.0)
    assert time.monotonic() - began < 5.0
    terminal.see(PROMPT)

    terminal.enter("server")
    terminal.see(f"Server.*{server}")
    terminal.enter("exit")
    assert terminal.end(30.0) == 0
    assert "SELCT" in (tmp_path / "streamsql" / "history").read_text()


def run(*arguments: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "streamsql.cli.main", "connect", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        timeout=ROW_SECONDS,
        check=False,
    )


def test_without_a_terminal(server: str, tmp_path: Path) -> None:
    done = run(server, "-e", "DEFINE a = 'x';", "-e", "SHOW VARIABLES;", "--output", "json")
    assert (done.returncode, done.stdout) == (0, '{"Variable Name":"A","Value":"x"}\n')

    piped = run(
        server, typed="SHOW TYPES;\nSELECT nope\n  FROM ksql_processing_log EMIT CHANGES;\n"
    )
    assert piped.returncode == 1
    assert "name error at line 1, column 8" in piped.stderr and "^^^^" in piped.stderr

    script = tmp_path / "wrong.sql"
    script.write_text("SHOW STREAMS;\nSHOW STREEMS;\n")
    failed = run(server, "-f", str(script))
    assert failed.returncode == 1 and f"{script}:2:6: syntax error" in failed.stderr


def test_no_server() -> None:
    failed = run("127.0.0.1:1", "-e", "SHOW STREAMS;")
    assert failed.returncode == 2
    assert failed.stderr.startswith("external error: cannot reach http://127.0.0.1:1")
    assert "Traceback" not in failed.stderr
