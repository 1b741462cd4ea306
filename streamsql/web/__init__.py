"""Shared parts of the HTTP servers: listening, and protection against browsers."""
