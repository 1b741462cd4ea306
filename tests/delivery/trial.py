"""One trial: pipelines with exactly-once delivery while everything fails but the broker.

An engine in a process of its own is killed, its Spark is killed or stopped for a while, at random
moments of a seeded sequence, while a producer writes events. What a reader of committed data sees
in the end is compared with what the input topics hold.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
from awaiting import await_until
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from delivery.shapes import SOURCES, Shape, Topics
from soak.killing import kill_tree

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import Record

START_SECONDS = 240.0
FINISH_SECONDS = 240.0
KEYS = 50
TESTS = Path(__file__).parents[1]


class Trial:
    """The pipelines on one broker; `run` makes them fail, `problems` says what is wrong then."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        shapes: Sequence[Shape],
        *,
        mode: str = "auto",
        guarantee: str = "exactly_once",
    ) -> None:
        self._folder = folder
        self._bootstrap = bootstrap
        self._shapes = shapes
        self._kafka = KafkaClient(bootstrap)
        for topic in ("events", "answers", "names"):
            self._kafka.create_topic(topic, 2, -1, {}, exists_ok=True)
        settings = f"SET 'processing.guarantee' = '{guarantee}'; SET 'processing.mode' = '{mode}';"
        script = "\n".join([settings, SOURCES, *(shape.sql for shape in shapes)])
        (folder / "script.sql").write_text(script, "utf-8")
        self._engine = self._started()
        self._await_ready()

    def _started(self) -> subprocess.Popen[str]:
        module = ["-m", "delivery.engine_child", str(self._folder / "engine"), self._bootstrap]
        with (self._folder / "stderr.txt").open("a") as errors:
            return subprocess.Popen(
                [sys.executable, *module, str(self._folder / "script.sql")],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
            )

    def _await_ready(self) -> None:
        heard: list[str] = []
        process = self._engine

        def listen() -> None:
            assert process.stdout is not None
            heard.append(process.stdout.readline())

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        listener.join(START_SECONDS)
        errors = self._folder / "stderr.txt"
        assert heard == ["ready\n"], f"the engine is not ready: {errors.read_text()[-2000:]}"

    # -- faults ----------------------------------------------------------------------------------

    def run(self, failures: int, seed: int, rate: float, apart: tuple[float, float]) -> None:
        """Have events written at that rate while that many failures happen, `apart` seconds."""
        dice = random.Random(seed)
        faults: list[Callable[[random.Random], None]] = [
            self._kill_engine,
            self._kill_spark,
            self._kill_spark,
            self._stop_spark_for_a_while,
        ]
        with Events(self._bootstrap, rate):
            _let_pass(apart[1])
            for _ in range(failures):
                _let_pass(dice.uniform(*apart))
                dice.choice(faults)(dice)
            _let_pass(apart[1])

    def _kill_engine(self, dice: random.Random) -> None:
        self.close()
        self._engine = self._started()
        self._await_ready()

    def _spark(self) -> psutil.Process:
        def found() -> list[psutil.Process]:
            children = psutil.Process(self._engine.pid).children(recursive=True)
            return [child for child in children if "java" in child.name()]

        await_until(lambda: bool(found()), "Spark to run", START_SECONDS)
        return found()[0]

    def _kill_spark(self, dice: random.Random) -> None:
        self._spark().kill()

    def _stop_spark_for_a_while(self, dice: random.Random) -> None:
        spark = self._spark()
        spark.suspend()
        _let_pass(dice.uniform(0.5, 8.0))
        spark.resume()

    def close(self) -> None:
        """Kill the engine and all it has started."""
        kill_tree(self._engine)
        assert self._engine.stdout is not None
        self._engine.stdout.close()

    # -- what a reader sees ----------------------------------------------------------------------

    def problems(self) -> dict[str, list[str]]:
        """What is wrong for good, by pipeline, when nothing more comes."""
        deadline = time.monotonic() + FINISH_SECONDS
        while True:
            topics = self.committed()
            found = {s.name: lines for s in self._shapes if (lines := s.check(topics))}
            if not found or time.monotonic() > deadline:
                return found
            _let_pass(1.0)

    def committed(self) -> Topics:
        """The records of all topics, as a reader of committed data sees them."""
        names = [name for name in self._kafka.topics() if not name.startswith("_")]
        return {name: self._read(name) for name in names}

    def _read(self, topic: str) -> list[Record]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "trial",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        partitions = range(self._kafka.partitions(topic) or 0)
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        left, records = len(partitions), []
        while left:
            message = consumer.poll(30.0)
            assert message is not None, f"{topic} is not read to its end"
            error = message.error()
            if error is None:
                place = (message.partition() or 0, message.offset() or 0)
                time_ms = message.timestamp()[1]
                records.append(Record(topic, *place, time_ms, message.key(), message.value()))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                left -= 1
        consumer.close()
        return records


class Events:
    """Writes events, each with an id, and an answer to every twentieth, while it is open."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2}
        )
        self._rate = rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Events:
        for number in range(KEYS):
            self._send("names", number, {"name": f"name {number}"})
        self._producer.flush()
        self._thread.start()
        return self

    def _write(self) -> None:
        began, number = time.monotonic(), 0
        while not self._ended.is_set():
            while number < (time.monotonic() - began) * self._rate:
                self._send("events", number, {"id": number, "v": number * 7 % 1000})
                if number % 20 == 0:
                    self._send("answers", number, {"id": number})
                number += 1
            self._producer.poll(0.002)

    def _send(self, topic: str, number: int, row: dict[str, object]) -> None:
        self._producer.produce(topic, json.dumps(row), f"k{number % KEYS}")

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(60.0) == 0


def _let_pass(seconds: float) -> None:
    # The moment is to be any: nothing is waited for.
    moment = time.monotonic() + seconds
    await_until(lambda: time.monotonic() >= moment, "the moment", seconds + 20)
