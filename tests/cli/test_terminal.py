"""The shell in a real terminal, on real Kafka and Spark, as users run it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import PROMPT, PROMPT_SECONDS, Terminal

from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ROW_SECONDS = 300.0


@pytest.fixture
def terminal(kafka: KafkaClient, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(["--data", str(tmp_path), "--bootstrap-servers", kafka.bootstrap])
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
