"""Syntax errors and suggestions."""
