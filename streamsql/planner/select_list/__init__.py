"""The SELECT list."""
