"""A table of a real PostgreSQL, whose changes are captured while everything is killed.

The engine, with exactly-once delivery, and the reader of the database's log are ended by SIGKILL at
random moments, and started again. In the end the engine's tables must be what the database has.
"""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from awaiting import await_until
from capture.changes import Changes
from capture.tables import QUERIES, SOURCE, Tables
from delivery.load import let_pass
from engine.postgresql import database
from soak.engine_process import EngineProcess
from soak.killing import kill_tree

from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROWS, CHANGES = 10_000, 100_000
CHANGES_PER_SECOND = 600
VICTIMS = ("engine", "engine", "engine", "reader", "reader", "both")
LOAD_SECONDS = 600.0
FINISH_SECONDS = 300.0
TESTS = Path(__file__).parents[1]

_log = logging.getLogger(__name__)


class ReaderProcess:
    """The reader of the database's log in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._errors = folder / "reader.txt"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "capture.reader", *self._arguments],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
                stderr=errors,
            )

    def kill(self) -> None:
        if self._process is not None:
            assert self._process.poll() is None, self._errors.read_text()[-2000:]
            kill_tree(self._process)
            self._process = None


@contextmanager
def made(changes: Changes, count: int) -> Iterator[None]:
    """A number of changes while the block runs, and for as long as it takes."""
    failures: list[BaseException] = []

    def make() -> None:
        began, before = time.monotonic(), changes.made
        try:
            while (done := changes.made - before) < count:
                due = began + done / CHANGES_PER_SECOND
                if time.monotonic() >= due:
                    changes.transaction()
                else:
                    let_pass(due - time.monotonic())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    yield
    thread.join(LOAD_SECONDS)
    assert not failures and not thread.is_alive(), failures


def kill(engine: EngineProcess, reader: ReaderProcess, victims: str) -> None:
    """The engine, the reader or both."""
    if victims != "engine":
        reader.kill()
    if victims != "reader":
        engine.kill()
        engine.start()
    if victims != "engine":
        reader.start()


def test_tables_are_what_the_database_has(
    tmp_path: Path,
    broker: EmbeddedBroker,
    kafka: KafkaClient,
) -> None:
    dice, name = random.Random(7), "kills"
    victims = dice.sample(VICTIMS, len(VICTIMS))
    with (
        database("wal_level=logical", "max_wal_size=4GB") as postgresql,
        closing(Changes(postgresql.conninfo, f"{name}items", 7, full=False)) as changes,
        psycopg.connect(postgresql.conninfo, autocommit=True) as connection,
    ):
        source = SOURCE.format(", UNAVAILABLE_VALUES='KEEP'")
        sql = f"SET 'processing.guarantee' = 'exactly_once';\n\n{source}{QUERIES}".strip()
        engine = EngineProcess(tmp_path, sql.replace("$", name), broker.bootstrap)
        reader = ReaderProcess(
            tmp_path, postgresql.conninfo, f"{name}items", broker.bootstrap, f"{name}items"
        )
        engine.start()
        try:
            engine.await_ready()
            reader.start()
            changes.fill(ROWS)
            began = time.monotonic()
            with made(changes, CHANGES):
                for number, victim in enumerate(victims):
                    _await_made(changes, ROWS + CHANGES * (number + dice.random()) / len(victims))
                    kill(engine, reader, victim)
            engine.await_ready()
            topics = [f"{name}copied".upper(), f"{name}grouped".upper()]
            Tables(connection, f"{name}items", kafka, topics).await_equal(FINISH_SECONDS)
            seconds, told = time.monotonic() - began, _records(kafka, f"{name}items")
            _log.info("%d changes, %s, in %d s", changes.made, told, seconds)
        finally:
            engine.kill()
            reader.kill()


def _await_made(changes: Changes, count: float) -> None:
    await_until(lambda: changes.made >= count, f"{count} changes", LOAD_SECONDS, every=0.1)


def _records(kafka: KafkaClient, topic: str) -> str:
    """How many changes were sent, and how many repeatedly."""
    told: Counter[tuple[int, str]] = Counter()
    for record in kafka.consume(topic, until=kafka.end_offsets(topic)):
        if record.value is not None:
            change = json.loads(record.value)
            told[change["source"]["lsn"], change["op"]] += 1
    return f"{len(told)} sent and {told.total() - len(told)} of them repeatedly"
