"""SIGKILL to a process and all it has started."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psutil


def kill_tree(process: subprocess.Popen[Any]) -> int:
    """End it and its children at once, and wait for that; how many they were."""
    found: Sequence[psutil.Process] = ()
    with suppress(psutil.NoSuchProcess):
        main = psutil.Process(process.pid)
        found = [main, *main.children(recursive=True)]
    for each in found:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()
    psutil.wait_procs(found, timeout=30)
    return len(found)
