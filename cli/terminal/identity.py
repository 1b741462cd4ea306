"""Messages about a command itself: version and exit."""

from __future__ import annotations

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the signal number, as in shells."""


def version_line() -> str:
    """Name and version, as `--version` prints them."""
    from importlib.metadata import version

    return f"streamsql {version('streamsql-client')}"
