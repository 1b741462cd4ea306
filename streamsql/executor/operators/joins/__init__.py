"""Joins."""
