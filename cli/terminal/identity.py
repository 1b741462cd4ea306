"""What a command says of itself: its version, and how it ended."""

from __future__ import annotations

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""


def version_line() -> str:
    """Name and version, as `--version` prints them."""
    from importlib.metadata import version

    return f"streamsql {version('streamsql')}"
