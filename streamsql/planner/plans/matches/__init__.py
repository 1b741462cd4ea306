"""Matches of patterns as operators of a plan, and as text."""
