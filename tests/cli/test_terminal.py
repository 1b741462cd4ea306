"""The shell in a real terminal, on real Kafka and Spark, as somebody uses it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from interrupts import heed_interrupts

from streamsql.executor.kafka import KafkaClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

PROMPT = "streamsql> "
PROMPT_SECONDS = 60.0
"""The target is 1 s; a busy machine takes longer."""
ROW_SECONDS = 300.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Terminal:
    """A shell at the other end of a pseudo-terminal; what it shows is awaited as plain text."""

    def __init__(self, data: Path, servers: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        arguments = ["-m", "cli.main", "--data", str(data), "--bootstrap-servers", servers]
        self._child = pexpect.spawn(
            sys.executable,
            arguments,
            env=environment,
            dimensions=(40, 120),
            encoding="utf-8",
            preexec_fn=heed_interrupts,
        )
        self._shown = ""

    def type(self, text: str) -> None:
        self._child.send(text)

    def enter(self, text: str) -> None:
        """Type a line, with the Enter key."""
        self._shown = ""
        self._child.send(text + "\r")

    def see(self, pattern: str, timeout: float = 60.0) -> re.Match[str]:
        """Wait for text that has come since the last `enter`."""
        deadline = time.monotonic() + timeout
        while True:
            found = re.search(pattern, self._shown)
            if found:
                return found
            left = deadline - time.monotonic()
            assert left > 0, f"not seen in {timeout} s: {pattern}\n{self._shown[-3000:]}"
            try:
                piece = self._child.read_nonblocking(100_000, timeout=min(left, 1.0))
            except pexpect.TIMEOUT:
                continue
            self._shown += _ESCAPES.sub("", piece)

    def interrupt(self) -> None:
        self._shown = ""
        self._child.send("\x03")

    def end(self, timeout: float) -> int:
        """Wait for the shell to end by itself: its exit code."""
        self._child.expect(pexpect.EOF, timeout=timeout)
        self._child.close()
        return int(self._child.exitstatus or 0)

    def kill(self) -> None:
        self._child.close(force=True)


@pytest.fixture
def terminal(kafka: KafkaClient, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, kafka.bootstrap)
    try:
        yield terminal
    finally:
        terminal.kill()


def test_a_session(terminal: Terminal, topic_name: str) -> None:
    terminal.see(PROMPT, PROMPT_SECONDS)

    # Commands and errors are answered while Kafka and Spark still start.
    terminal.enter("help select")
    terminal.see("A push query: rows as they come")
    terminal.enter("SELCT 1;")
    terminal.see(r"syntax error at line 1, column 1: unknown statement SELCT")
    terminal.see("Did you mean SELECT")

    # A statement that has to wait for them can be called off.
    terminal.enter("SELECT * FROM nothing EMIT CHANGES LIMIT 1;")
    terminal.see("Spark", 10.0)
    terminal.interrupt()
    terminal.see("Not run", 10.0)

    # A statement over several lines, ended by its semicolon.
    terminal.enter("CREATE STREAM readings (id INT KEY, place STRING, celsius DOUBLE)")
    terminal.see("· ")
    terminal.enter(f"WITH (KAFKA_TOPIC = '{topic_name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);")
    terminal.see("Stream created", ROW_SECONDS)
    terminal.enter("INSERT INTO readings VALUES (7, 'roof', 21.5);")
    terminal.see(r"(?s);.*streamsql> ", ROW_SECONDS)

    # Tab completes a keyword, then the names of a stream and of its column.
    terminal.enter("DESCR\t rea\t;")
    terminal.see("CELSIUS")
    terminal.enter("SELE\t plac\t FROM readings EMIT CHANGES;")
    terminal.see(r" PLACE", ROW_SECONDS)
    terminal.see(r"─\s+roof", ROW_SECONDS)

    # Ctrl-C ends the query and nothing else, within a second (a busy machine gets more).
    began = time.monotonic()
    terminal.interrupt()
    terminal.see("Query ended", 10.0)
    assert time.monotonic() - began < 5.0
    terminal.see(PROMPT)

    # It drops a half-typed statement too.
    terminal.type("SELECT nonsense")
    terminal.interrupt()
    terminal.enter("SHOW STREAMS;")
    terminal.see("READINGS")

    terminal.enter("exit")
    assert terminal.end(120.0) == 0
