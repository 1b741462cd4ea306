"""Joins: parts and supported kinds."""
