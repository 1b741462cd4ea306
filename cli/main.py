"""The `streamsql` command."""

from __future__ import annotations


def main() -> int:
    raise NotImplementedError
