"""Rows in the forms of clients."""
