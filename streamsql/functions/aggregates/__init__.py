"""Aggregate functions, a file a family."""
