"""Repeatable execution of statement files."""
