"""The embedded schema registry."""
