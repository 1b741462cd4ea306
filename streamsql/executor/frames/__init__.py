"""Shared parts of all operators' frames."""
