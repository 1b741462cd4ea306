"""A file for each group of endpoints."""
