"""What went wrong with single records, which are replayed, and with results, which are verified."""

from streamsql.statements.repair import errors, replay, verify

__all__ = ["errors", "replay", "verify"]
