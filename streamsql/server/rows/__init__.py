"""Rows as clients want them."""
