"""Tests as data: read, written and reported."""
