"""Ctrl-C for the processes that tests start."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Run first in a child: what a shell starts in the background ignores interrupts, and so do
    its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
