"""Folders that are not always on a disk: where checkpoints are, and how their files are touched."""
