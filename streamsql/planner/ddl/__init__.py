"""Statements that define, change and drop catalog objects."""
