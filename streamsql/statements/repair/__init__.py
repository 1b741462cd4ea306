"""What went wrong with single records: it is shown, and put right."""

from streamsql.statements.repair import errors

__all__ = ["errors"]
