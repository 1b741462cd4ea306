"""How a JVM has ended: killed by a signal, or crashed."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from streamsql.waiting import await_condition

DYING_SECONDS = 0.5
"""A connection to it breaks a moment before the process has ended."""
_KILLED = (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)
_COUNTS = Path("/proc/vmstat")


class JvmEnds:
    """Of one runtime, whose JVMs run one after the other; thread-safe."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._out_of_memory: int | None = None
        self._was_killed = False

    def begun(self, process: subprocess.Popen[bytes]) -> None:
        self._note()
        self._process, self._out_of_memory = process, processes_out_of_memory()

    def was_killed(self) -> bool:
        """Whether the last JVM was killed by a signal that certainly did not come from the kernel's
        OOM killer. Waits for a JVM that is exiting."""
        process = self._process
        if process is not None:
            await_condition(lambda: process.poll() is not None, DYING_SECONDS)
        self._note()
        return self._was_killed

    def _note(self) -> None:
        process, before = self._process, self._out_of_memory
        if process is not None and process.poll() is not None:
            by_kernel = before is None or before != processes_out_of_memory()
            self._was_killed = process.returncode in _KILLED and not by_kernel


def processes_out_of_memory() -> int | None:
    """How many processes the kernel has killed for a lack of memory, a control group's or its own;
    None where it does not say. (Linux: oom_kill in /proc/vmstat.)"""
    try:
        lines = _COUNTS.read_text("ascii").splitlines()
    except OSError:
        return None
    counts = (line.split() for line in lines)
    return next((int(count) for name, count in counts if name == "oom_kill"), None)
