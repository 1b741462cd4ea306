"""Checkpoint folders on a disk or in an object store."""
