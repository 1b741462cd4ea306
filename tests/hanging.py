"""What a test that does not end is waiting for: the threads of the JVMs that it has started."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import psutil

_DUMP_SECONDS = 30.0


def dumps() -> str:
    """A thread dump of each JVM below this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError, subprocess.SubprocessError):
            if process.name() == "java":
                found.append(f"JVM {process.pid}\n{_dump(process)}")
    return "\n".join(found)


def _dump(process: psutil.Process) -> str:
    tool = process.exe().removesuffix("java") + "jstack"
    command = [tool, "-l", str(process.pid)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_DUMP_SECONDS
    )
    return done.stdout or done.stderr
