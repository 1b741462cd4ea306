"""The engine, Spark and, unless one is given, a broker in a process of their own, to be killed at
any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
from awaiting import await_until
from soak.killing import kill_tree

START_SECONDS = 240.0


def let_pass(seconds: float) -> None:
    """Until a moment that is to be any: nothing is waited for."""
    moment = time.monotonic() + seconds
    await_until(lambda: time.monotonic() >= moment, "the moment of the kill", seconds + 20)


class EngineProcess:
    """The engine in a process of its own; `start` may be called again after `kill`."""

    def __init__(self, folder: Path, sql: str, broker: str | None = None) -> None:
        """`broker`: where one listens that outlives the engine."""
        self._folder = folder
        self._arguments = [str(folder), sql] if broker is None else [str(folder), sql, broker]
        self._process: subprocess.Popen[str] | None = None
        self.bootstrap = ""
        self.ready = threading.Event()

    def start(self) -> None:
        self.ready = ready = threading.Event()
        tests = Path(__file__).parents[1]
        with (self._folder / "stderr.txt").open("a") as errors:
            self._process = process = subprocess.Popen(
                [sys.executable, "-m", "soak.engine_child", *self._arguments],
                cwd=tests,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])},
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
            )

        def listen() -> None:
            assert process.stdout is not None
            with process.stdout as lines:
                for line in lines:
                    if line.startswith("ready "):
                        self.bootstrap = line.split()[1]
                        ready.set()

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()

    def await_ready(self) -> None:
        def alive_and_ready() -> bool:
            assert self._process is not None
            code = self._process.poll()
            errors = self._folder / "stderr.txt"
            assert code is None, f"the engine ended with {code}: {errors.read_text()[-2000:]}"
            return self.ready.is_set()

        await_until(alive_and_ready, "the engine to be ready", START_SECONDS)

    def kill(self) -> int:
        """SIGKILL to the process and all it has started; how many that were."""
        assert self._process is not None
        count = kill_tree(self._process)
        self._listener.join(10)
        return count

    def kill_part(self, dice: random.Random) -> None:
        """SIGKILL to the broker or to Spark alone; the engine has to mend that itself."""
        assert self._process is not None
        parts = psutil.Process(self._process.pid).children()
        assert parts
        dice.choice(sorted(parts, key=lambda p: p.pid)).kill()

    def stop(self) -> int:
        """End it as a user would; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(120)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
