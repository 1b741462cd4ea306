"""Completion for shells and editors."""

from __future__ import annotations

from streamsql.api.completion.completer import MAX_SUGGESTIONS, Names, Suggestion, suggest
from streamsql.api.completion.cursor import locate
from streamsql.catalog import Catalog

__all__ = ["MAX_SUGGESTIONS", "Names", "Suggestion", "load", "locate", "suggest"]


def load() -> None:
    """Loads the parser and functions for the first suggestion."""
    suggest("SELECT ", len("SELECT "), Catalog())
