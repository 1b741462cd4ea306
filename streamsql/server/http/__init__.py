"""Requests, answers that are errors, and media types."""
