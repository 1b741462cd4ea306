"""Words and marks of the language."""
