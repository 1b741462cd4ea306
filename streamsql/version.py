"""The version of this installation, which is that of the client: the engine requires the same."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("streamsql-client")
    except PackageNotFoundError:
        return "0+unknown"


VERSION = _installed()
