"""`apply` of changes of each class while records come, some of them killed at any moment: run again
it is as if it had been run once. Each record has its row in the stream once, the table is exact.
Of those that are not killed, how long a reader of committed rows sees none has a bound."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until
from engine.flow import Arrivals
from soak.killing import kill_tree

from streamsql.config import REBUILD_TOPIC_PREFIX
from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.log.entries import read_file

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

START_SECONDS = 240.0
SECONDS = 120.0
APPLIES = 20
"""Of each class; every third is killed."""
ORDINARY_SECONDS = 5.0
"""Before each apply: the longest time without a row in these is the ordinary one."""
ORDINARY = 1.0
"""Seconds that it has come down to before an apply begins: until then, queries catch up with what
came while they stood still."""
PAUSE = 2.0
"""Seconds without a row that a change of class 2 may bring, since its query restarts."""
MORE = 0.5
"""Seconds more than ordinary for a rebuild beside the running query."""
TESTS = Path(__file__).parents[1]
FORM = "PARTITIONS=2, VALUE_FORMAT='JSON'"
SOURCES = f"""
CREATE STREAM s (k STRING KEY, n BIGINT, a STRING, b STRING) WITH (KAFKA_TOPIC='s', {FORM});
CREATE TABLE u (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='u', {FORM});
CREATE TABLE w (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='w', {FORM});
SET 'processing.guarantee' = 'exactly_once';
"""
TABLE = "CREATE TABLE t AS SELECT {0}, COUNT(*) AS c, SUM(n){1} FROM s GROUP BY {0};\n"
STREAM = "CREATE STREAM j AS SELECT s.k AS k, s.n{1} AS n FROM s JOIN {0} ON s.k = {0}.k;\n"
PARTS = {
    2: [("a", " AS total", "u", ""), ("a", " + 0 AS total", "u", " + 0")],
    3: [("a", " AS total", "u", ""), ("a", " AS total, MAX(n) AS m", "u", "")],
    4: [("a", " AS total", "u", ""), ("b", " AS total", "w", "")],
}
"""Of each class what is changed to and fro: the group, the columns, whom the stream is joined with,
and what it selects."""


def text(change: int, number: int) -> str:
    group, columns, side, added = PARTS[change][number % 2]
    return SOURCES + TABLE.format(group, columns) + STREAM.format(side, added)


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    """A broker that outlives the engines."""
    broker = EmbeddedBroker(DataDir(tmp_path / "broker"))
    try:
        yield broker.start()
    finally:
        broker.stop()


@dataclass(frozen=True)
class Gap:
    """The longest times without a row that a reader of a sink has seen."""

    sink: str
    ordinary: float
    """Before the apply."""
    around: float
    """From its begin to some seconds after its end."""

    def is_within(self, change: int) -> bool:
        """Whether it is as short as a change of this class allows."""
        return self.around <= (PAUSE if change == 2 else self.ordinary + MORE)

    def __str__(self) -> str:
        return f"{self.sink} {self.around:.2f} s (ordinary: {self.ordinary:.2f} s)"


class Life:
    """Lives of one engine, and the records that come meanwhile."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder = folder / "engine"
        self._bootstrap = bootstrap
        self._errors = folder / "stderr.txt"
        self.kafka = KafkaClient(bootstrap)
        self.count = 0
        self._ended = threading.Event()
        self._flow = threading.Thread(target=self._produce, daemon=True)

    def start(self) -> None:
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "delivery.apply_child", str(self.folder), self._bootstrap],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
            )
        self.hear("ready")

    def hear(self, wanted: str) -> None:
        heard: list[str] = []
        stdout = self.process.stdout
        assert stdout is not None
        listener = threading.Thread(target=lambda: heard.append(stdout.readline()), daemon=True)
        listener.start()
        listener.join(START_SECONDS)
        assert heard == [f"{wanted}\n"], f"not {wanted}: {self._errors.read_text()[-3000:]}"

    def tell(self, sql: str) -> None:
        """Begin to apply it."""
        file = self.folder.parent / "files.sql"
        file.write_text(sql)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{file}\n")
        self.process.stdin.flush()

    def apply(self, sql: str) -> None:
        self.tell(sql)
        self.hear("done")

    def kill(self) -> None:
        kill_tree(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def flow(self) -> None:
        """Let records come, a thousand a second."""
        self._flow.start()

    def stop_flow(self) -> None:
        self._ended.set()
        self._flow.join()

    def _produce(self) -> None:
        while not self._ended.wait(0.1):
            self.produce(100)

    def produce(self, count: int) -> None:
        numbers = range(self.count, self.count + count)
        self.kafka.produce("s", [NewRecord(_key(n), json.dumps(_row(n)).encode()) for n in numbers])
        self.count += count

    def table(self) -> dict[str, tuple[int, int]]:
        """What the table's topic holds."""
        found = {}
        for record in self.kafka.consume("T", until=self.kafka.end_offsets("T")):
            assert record.key is not None
            found[record.key.decode()] = record.value
        rows = {key: json.loads(value) for key, value in found.items() if value is not None}
        return {key: (row["C"], row["TOTAL"]) for key, row in rows.items()}

    def stream(self) -> Counter[int]:
        """How often each number is in the stream's topic."""
        records = self.kafka.consume("J", until=self.kafka.end_offsets("J"))
        return Counter(json.loads(record.value or b"{}")["N"] for record in records)

    def expected(self, key: str) -> dict[str, tuple[int, int]]:
        found: dict[str, list[int]] = {}
        for n in range(self.count):
            found.setdefault(_row(n)[key], []).append(n)
        return {group: (len(ns), sum(ns)) for group, ns in found.items()}


def _key(n: int) -> bytes:
    return f"k{n % 5}".encode()


def _row(n: int) -> dict[str, Any]:
    return {"N": n, "A": f"a{n % 7}", "B": f"b{n * 31 % 11}"}


def _await_exact(life: Life, change: int) -> None:
    wanted = life.expected(PARTS[change][APPLIES % 2][0].upper())
    await_until(lambda: life.table() == wanted, "the table to be exact", SECONDS)
    once = Counter(range(life.count))
    await_until(lambda: life.stream().keys() >= once.keys(), "all rows", SECONDS)
    assert life.stream() == once
    assert not [t for t in life.kafka.topics() if t.startswith(REBUILD_TOPIC_PREFIX)]


@pytest.mark.slow
@pytest.mark.parametrize("change", PARTS)
def test_some_applies_are_killed_and_run_again(
    tmp_path: Path, bootstrap: str, change: int, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(tmp_path, bootstrap)
    life.start()
    try:
        life.apply(SOURCES)
        for topic in "uw":
            names = (NewRecord(f"k{n}".encode(), b'{"NAME": "x"}') for n in range(5))
            life.kafka.produce(topic, names)
        life.apply(text(change, 0))
        life.produce(3_000)
        life.flow()
        table, stream = Arrivals(life.kafka, "T"), Arrivals(life.kafka, "J")
        trial = Trial(life, change, {"table": table, "stream": stream})
        with table.noted(), stream.noted(), capsys.disabled():
            print(f"\nclass {change}")
            for number in range(1, APPLIES + 1):
                print(trial.killed(number) if number % 3 == 0 else trial.applied(number))
        life.stop_flow()
        _await_exact(life, change)
        assert len(trial.gaps) == 2 * (APPLIES - APPLIES // 3)
        assert not [str(gap) for gap in trial.gaps if not gap.is_within(change)]
    finally:
        life.kill()


class Trial:
    """Applies of one class, each of the text of its number, and the gaps of those that are not
    killed. Both say what came of it."""

    def __init__(self, life: Life, change: int, noted: dict[str, Arrivals]) -> None:
        self.gaps: list[Gap] = []
        self._life, self._change, self._noted = life, change, noted
        self._dice = random.Random(change)
        self._longest = 4.0
        """Seconds that an apply took."""

    def applied(self, number: int) -> str:
        """Carried out at once."""
        await_until(self._is_ordinary, "rows to come as in ordinary times", SECONDS)
        began = time.monotonic()
        self._life.apply(text(self._change, number))
        took = time.monotonic() - began
        self._longest = max(self._longest, took)
        time.sleep(3)
        for arrivals in self._noted.values():
            arrivals.await_one(SECONDS)
        found = [_gap(name, arrivals, began) for name, arrivals in self._noted.items()]
        self.gaps += found
        return f"{took:.1f} s; longest without a row: {', '.join(map(str, found))}"

    def killed(self, number: int) -> str:
        """Killed at a random moment, and run again."""
        life, wanted = self._life, text(self._change, number)
        log = life.folder / "statements.log"
        before, after = len(read_file(log)), self._dice.uniform(0.1, self._longest)
        life.tell(wanted)
        time.sleep(after)
        life.kill()
        logged = len(read_file(log)) > before
        life.start()
        life.apply(wanted)
        return f"killed after {after:.1f} s, {'logged' if logged else 'not logged'}"

    def _is_ordinary(self) -> bool:
        now = time.monotonic()
        times = (a.gap(now - ORDINARY_SECONDS, now) for a in self._noted.values())
        return max(times) <= ORDINARY


def _gap(name: str, arrivals: Arrivals, began: float) -> Gap:
    ordinary = arrivals.gap(began - ORDINARY_SECONDS, began)
    return Gap(name, ordinary, arrivals.gap(began, arrivals.times[-1]))
