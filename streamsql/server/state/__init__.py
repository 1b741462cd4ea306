"""Shared state of a server's requests."""
