"""The words of a text, counted."""
