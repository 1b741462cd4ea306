"""A shell in a real terminal, as users run it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence

import pexpect
from interrupts import heed_interrupts

PROMPT = "streamsql> "
PROMPT_SECONDS = 60.0
"""The target is 1 s; a busy machine takes longer."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Terminal:
    """A shell at the other end of a pseudo-terminal; what it shows is awaited as plain text."""

    def __init__(self, arguments: Sequence[str], python: str = sys.executable) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = pexpect.spawn(
            python,
            ["-m", "streamsql.cli.main", *arguments],
            env=environment,
            dimensions=(40, 120),
            encoding="utf-8",
            preexec_fn=heed_interrupts,
        )
        self._shown = ""

    def type(self, text: str) -> None:
        self._child.send(text)

    def enter(self, text: str) -> None:
        """Type a line, with the Enter key."""
        self._shown = ""
        self._child.send(text + "\r")

    def see(self, pattern: str, timeout: float = 60.0) -> re.Match[str]:
        """Wait for text that has come since the last `enter`."""
        deadline = time.monotonic() + timeout
        while True:
            found = re.search(pattern, self._shown)
            if found:
                return found
            left = deadline - time.monotonic()
            assert left > 0, f"not seen in {timeout} s: {pattern}\n{self._shown[-3000:]}"
            try:
                piece = self._child.read_nonblocking(100_000, timeout=min(left, 1.0))
            except pexpect.TIMEOUT:
                continue
            self._shown += _ESCAPES.sub("", piece)

    def interrupt(self) -> None:
        self._shown = ""
        self._child.send("\x03")

    def end(self, timeout: float) -> int:
        """Wait for the shell to end by itself: its exit code."""
        self._child.expect(pexpect.EOF, timeout=timeout)
        self._child.close()
        return int(self._child.exitstatus or 0)

    def kill(self) -> None:
        self._child.close(force=True)

    @property
    def pid(self) -> int:
        """Of the shell's process."""
        return int(self._child.pid)
