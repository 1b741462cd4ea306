"""A Flink cluster in one process, as a peer on the same machine; its jars are the user's."""

from __future__ import annotations

import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from benchmarks.common import PARTITIONS
from streamsql.jvm.java import find_java

MAIN = Path(__file__).parent / "NexmarkFlink.java"
_HEAP = "2g"
_START_SECONDS = 120.0
_SAYS = "@"
_OPENED = ("lang", "net", "nio", "text", "time", "util", "util.concurrent")


class FlinkError(Exception):
    """What Flink says of a script that it cannot run, or of itself."""


class Flink:
    """Ready when it is made; runs one script at a time.

    State is on the heap, with a checkpoint every ten seconds into `folder`; rows are not held back
    for mini-batches.
    """

    def __init__(self, jars: Path, folder: Path) -> None:
        """`jars` holds those of a Flink distribution and its connector for Kafka."""
        self._folder = folder
        self._log = (folder / "flink.log").open("w", encoding="utf-8")
        self._said: queue.Queue[str] = queue.Queue()
        self._ended = False
        self._process = subprocess.Popen(
            self._command(jars),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self._measured = psutil.Process(self._process.pid)
        try:
            self._expect("READY", _START_SECONDS)
        except FlinkError:
            self.close()
            raise

    def _command(self, jars: Path) -> list[str]:
        settings: Mapping[str, str] = {
            "state.backend.type": "hashmap",
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": f"file://{self._folder}/checkpoints",
            "table.local-time-zone": "UTC",
            "taskmanager.memory.network.min": "64mb",
            "taskmanager.memory.network.max": "64mb",
            "taskmanager.memory.managed.size": "256mb",
        }
        opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
        return [
            str(find_java().program),
            f"-Xmx{_HEAP}",
            *opened,
            "-cp",
            f"{jars}/*",
            str(MAIN),
            str(PARTITIONS),
            *(f"{name}={value}" for name, value in settings.items()),
        ]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_SAYS):
                self._said.put(line.removeprefix(_SAYS).strip())
            else:
                self._log.write(line)
        self._said.put("FAILED the process has ended")

    def _expect(self, wanted: str, seconds: float) -> None:
        try:
            said = self._said.get(timeout=seconds)
        except queue.Empty:
            raise FlinkError(f"not {wanted} within {seconds:.0f} s") from None
        if said != wanted:
            raise FlinkError(said.removeprefix("FAILED "))

    def submit(self, script: str) -> float:
        """Run the script's statements; returns when the last one is about to be, with the time
        (`time.monotonic`)."""
        with tempfile.NamedTemporaryFile(
            "w", dir=self._folder, suffix=".sql", delete=False
        ) as file:
            file.write(script)
        assert self._process.stdin is not None
        self._process.stdin.write(f"{file.name}\n")
        self._process.stdin.flush()
        self._expect("SUBMITTING", _START_SECONDS)
        self._ended = False
        return time.monotonic()

    def finished(self) -> bool:
        """Whether the script has ended; FlinkError where it failed."""
        if not self._ended and not self._said.empty():
            self._expect("FINISHED", _START_SECONDS)
            self._ended = True
        return self._ended

    def cpu(self) -> float:
        """CPU seconds so far."""
        times = self._measured.cpu_times()
        return times.user + times.system

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
