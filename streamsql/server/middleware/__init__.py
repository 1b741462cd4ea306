"""Middleware in front of all endpoints."""
