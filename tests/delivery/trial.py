"""One trial: pipelines with exactly-once delivery while everything fails.

An engine in a process of its own is killed, its Spark is killed or stopped for a while, the broker
is killed, ends of transactions are lost on their way, at random moments of a seeded sequence, while
a producer writes events. What a reader of committed data sees in the end is compared with what the
input topics hold.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from awaiting import await_until
from delivery.broker import EndTxnProxy, KillableBroker
from delivery.load import Events, let_pass
from delivery.shapes import SOURCES, Shape
from soak.killing import kill_tree

from streamsql.errors import StreamSQLError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.transactions import transactions

START_SECONDS = 240.0
RECOVERY_SECONDS = 240.0
ALIVE_ROWS = 20
"""After that many more records a pipeline writes again: what ends a transaction is a record,
too."""
SHOWN = 60_000
"""The number of characters of a hanging engine's output."""
EARLY = 0.2
"""The share of failures that do not wait until the one before has been overcome."""
TESTS = Path(__file__).parents[1]


class Trial:
    """The pipelines on one broker; `run` makes them fail; reading.py says what is wrong then."""

    def __init__(
        self,
        folder: Path,
        broker: KillableBroker,
        proxy: EndTxnProxy,
        shapes: Sequence[Shape],
        *,
        mode: str = "auto",
        guarantee: str = "exactly_once",
        child: str = "delivery.engine_child",
    ) -> None:
        """`child` is the module that runs the pipelines in a process of its own."""
        self._folder = folder
        self._child = child
        self._broker, self._proxy = broker, proxy
        self.bootstrap = bootstrap = broker.bootstrap
        self._shapes = shapes
        self.faults: list[Callable[[random.Random], None]] = [
            self._kill_engine,
            self._kill_spark,
            self._kill_spark,
            self._kill_broker,
            self._stop_spark_for_a_while,
        ]
        self._kafka = KafkaClient(bootstrap)
        for topic in ("events", "answers", "names"):
            self._kafka.create_topic(topic, 2, -1, {}, exists_ok=True)
        settings = f"SET 'processing.guarantee' = '{guarantee}'; SET 'processing.mode' = '{mode}';"
        script = "\n".join([settings, SOURCES, *(shape.sql for shape in shapes)])
        (folder / "script.sql").write_text(script, "utf-8")
        self._engine = self._started()
        self._await_ready()

    def _started(self) -> subprocess.Popen[str]:
        module = ["-m", self._child, str(self._folder / "engine"), self.bootstrap]
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

    def run(self, failures: int, seed: int, rate: float, apart: tuple[float, float]) -> None:
        """Have events written at that rate while that many failures happen, each that many seconds
        after the pipelines have come back from the one before, or, now and then, earlier."""
        dice = random.Random(seed)
        with Events(self.bootstrap, rate):
            let_pass(apart[1])
            self._proxy.fails = True
            for _ in range(failures):
                if dice.random() >= EARLY:
                    self._await_rows()
                let_pass(dice.uniform(*apart))
                dice.choice(self.faults)(dice)
            self._proxy.fails = False
            let_pass(apart[1])

    def _await_rows(self) -> None:
        """The projection writes."""
        before: int | None = None

        def more() -> bool:
            nonlocal before
            now = self._written()
            before = now if before is None else before
            return now is not None and before is not None and now >= before + ALIVE_ROWS

        try:
            await_until(more, "rows to be written", RECOVERY_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._state()}") from None

    def _state(self) -> str:
        """What the engine has said, and what the threads of its processes are at."""
        self._engine.send_signal(signal.SIGUSR1)
        found = subprocess.run(
            ["jcmd", str(self._spark().pid), "Thread.print"],
            capture_output=True,
            text=True,
            check=False,
        )
        threads = [t for t in found.stdout.split("\n\n") if _tells(t)]
        said = (self._folder / "stderr.txt").read_text("utf-8")
        known = transactions({"bootstrap.servers": self.bootstrap})
        open_now = [str(t) for t in known if not t.state.startswith(("Complete", "Empty"))]
        return "\n\n".join([said[-SHOWN:], *threads, *open_now])

    def _written(self) -> int | None:
        """Records of the projection's topic; None while the broker comes back."""
        try:
            return sum(self._kafka.end_offsets("PICKED").values())
        except StreamSQLError:
            return None

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
        with suppress(psutil.NoSuchProcess):  # It has just ended of what was done before.
            self._spark().kill()

    def _kill_broker(self, dice: random.Random) -> None:
        self._broker.kill()
        let_pass(dice.uniform(0.0, 2.0))
        self._broker.start()

    def _stop_spark_for_a_while(self, dice: random.Random) -> None:
        self._stop_spark(dice.uniform(0.5, 8.0))

    def stop_spark_for_long(self, dice: random.Random) -> None:
        """Longer than the broker lets a transaction of real time be open (30 s, looked at every
        10), and than it waits for a consumer's and a producer's next word."""
        self._stop_spark(dice.uniform(45.0, 60.0))

    def _stop_spark(self, seconds: float) -> None:
        with suppress(psutil.NoSuchProcess):
            spark = self._spark()
            spark.suspend()
            let_pass(seconds)
            spark.resume()

    def close(self) -> None:
        """Kill the engine and all it has started."""
        kill_tree(self._engine)
        assert self._engine.stdout is not None
        self._engine.stdout.close()


def _tells(thread: str) -> bool:
    """Whether a thread's stack says what a query is at."""
    ours = "io.streamsql" in thread or "stream execution" in thread or "Executor task" in thread
    return ours and "kafka-producer-network-thread" not in thread
