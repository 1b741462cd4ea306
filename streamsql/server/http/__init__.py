"""Requests, error responses, and media types."""
