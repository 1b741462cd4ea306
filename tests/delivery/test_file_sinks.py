"""Files whose writer is killed again and again: a reader sees each row once, at any time."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import psutil
import pytest
from awaiting import await_until
from delivery.load import Events, let_pass
from soak.killing import kill_tree

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

TESTS = Path(__file__).parents[1]
PATIENCE = 240.0
SCRIPT = """
CREATE STREAM events (k STRING KEY, id BIGINT, v INT)
  WITH (KAFKA_TOPIC='events', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE SINK flat FROM events
  WITH (CONNECTION='FILE', PATH='{0}/flat', COMMIT_INTERVAL='1 SECOND');
CREATE SINK parted FROM events
  WITH (CONNECTION='FILE', PATH='{0}/parted', PARTITION_BY='k', COMMIT_INTERVAL='1 SECOND');
"""
"""One has few files to rename, the other many: so kills meet writing, and renaming."""
SINKS = ("flat", "parted")


class Writer:
    """An engine in a process of its own, on a broker that outlives it."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self._folder, self._bootstrap = folder, bootstrap
        (folder / "script.sql").write_text(SCRIPT.format(folder), "utf-8")
        self._process = self._started()
        self._await_ready()

    def _started(self) -> subprocess.Popen[str]:
        data, script = str(self._folder / "engine"), str(self._folder / "script.sql")
        with (self._folder / "stderr.txt").open("a") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "delivery.engine_child", data, self._bootstrap, script],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
            )

    def _await_ready(self) -> None:
        heard: list[str] = []
        process = self._process

        def listen() -> None:
            assert process.stdout is not None
            heard.append(process.stdout.readline())

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        listener.join(PATIENCE)
        errors = self._folder / "stderr.txt"
        assert heard == ["ready\n"], f"the engine is not ready: {errors.read_text()[-2000:]}"

    def _javas(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._process.pid).children(recursive=True)
            return [child for child in children if "java" in child.name()]
        return []

    def kill_spark(self) -> None:
        await_until(lambda: bool(self._javas()), "Spark to run", PATIENCE)
        with suppress(psutil.NoSuchProcess):
            self._javas()[0].kill()

    def kill(self) -> None:
        self.close()
        self._process = self._started()
        self._await_ready()

    def close(self) -> None:
        kill_tree(self._process)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ids(self, sink: str) -> list[int]:
        """What a reader finds just now."""
        files = f"'{self._folder / sink}/**/*.parquet'"
        # By DuckDB, which lets folders vanish while it looks: those of what is staged do.
        if not duckdb.sql(f"SELECT file FROM glob({files})").fetchall():
            return []
        found = duckdb.sql(f"SELECT ID FROM read_parquet({files})").fetchall()
        return [row[0] for row in found]

    def doubled(self) -> dict[str, list[int]]:
        """By the sinks, the rows that occur more than once."""
        found = {sink: Counter(self.ids(sink)) for sink in SINKS}
        return {s: [i for i, n in ids.items() if n > 1] for s, ids in found.items()}

    def settled(self, count: int) -> bool:
        """Whether all have come."""
        return all(len(self.ids(sink)) >= count for sink in SINKS)

    def grows(self) -> None:
        """Wait until both have more than now."""
        before = {sink: len(self.ids(sink)) for sink in SINKS}
        await_until(
            lambda: all(len(self.ids(sink)) > before[sink] for sink in SINKS),
            "more files",
            PATIENCE,
            every=0.2,
        )


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """One of the test's own: its topics are called as in others."""
    broker = EmbeddedBroker(DataDir.at(tmp_path / "broker"))
    try:
        broker.start(120)
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def kafka(broker: EmbeddedBroker) -> Iterator[KafkaClient]:
    client = KafkaClient(broker.bootstrap)
    yield client
    client.close()


@pytest.fixture
def writer(tmp_path: Path, broker: EmbeddedBroker, kafka: KafkaClient) -> Iterator[Writer]:
    for topic in ("events", "answers", "names"):
        kafka.create_topic(topic, 2, -1, {})
    writer = Writer(tmp_path, broker.bootstrap)
    yield writer
    writer.close()


def _kill_often(writer: Writer, bootstrap: str, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    with Events(bootstrap, 200.0):
        for number in range(kills):
            if number % 3 == 0:
                writer.grows()
            let_pass(dice.uniform(0.0, 3.0))
            writer.kill() if number % 5 == 4 else writer.kill_spark()
            assert writer.doubled() == {sink: [] for sink in SINKS}
        writer.grows()


def _check(writer: Writer, kafka: KafkaClient, folder: Path) -> None:
    count = sum(kafka.end_offsets("events").values())
    await_until(lambda: writer.settled(count), f"{count} rows", PATIENCE, every=0.5)
    for sink in SINKS:
        assert sorted(writer.ids(sink)) == list(range(count))
    await_until(
        lambda: not [p for s in SINKS for p in (folder / s).iterdir() if p.name[0] == "_"],
        "what was staged to be gone",
        PATIENCE,
    )


def test_a_few_kills(
    tmp_path: Path, writer: Writer, broker: EmbeddedBroker, kafka: KafkaClient
) -> None:
    _kill_often(writer, broker.bootstrap, kills=8, seed=1)
    _check(writer, kafka, tmp_path)


@pytest.mark.parametrize("seed", [2, 3])
def test_many_kills(
    tmp_path: Path, writer: Writer, broker: EmbeddedBroker, kafka: KafkaClient, seed: int
) -> None:
    _kill_often(writer, broker.bootstrap, kills=40, seed=seed)
    _check(writer, kafka, tmp_path)
