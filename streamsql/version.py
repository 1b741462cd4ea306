"""The version of this installation."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("streamsql")
    except PackageNotFoundError:
        return "0+unknown"


VERSION = _installed()
