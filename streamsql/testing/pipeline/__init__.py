"""Runs a test's pipeline on a real broker and Spark."""
