"""Compares pipeline files with the running pipeline, and applies the difference."""
