"""Replay of failed records, and verification of results."""

from streamsql.statements.repair import errors, replay, verify

__all__ = ["errors", "replay", "verify"]
