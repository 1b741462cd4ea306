"""What may be typed next: for a shell or an editor, whose business it is to show it."""

from __future__ import annotations

from streamsql.api.completion.completer import MAX_SUGGESTIONS, Names, Suggestion, suggest
from streamsql.api.completion.cursor import locate
from streamsql.catalog import Catalog

__all__ = ["MAX_SUGGESTIONS", "Names", "Suggestion", "load", "locate", "suggest"]


def load() -> None:
    """Load what the first suggestion will need: parser and functions."""
    suggest("SELECT ", len("SELECT "), Catalog())
