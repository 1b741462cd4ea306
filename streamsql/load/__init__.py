"""Data in: files, pipes and made-up records into topics."""

from __future__ import annotations

from streamsql.load.datagen import SCHEMAS, GenerateSpec, generate
from streamsql.load.loader import load
from streamsql.load.spec import KeyColumn, LoadSpec, Progress, Summary

__all__ = [
    "SCHEMAS",
    "GenerateSpec",
    "KeyColumn",
    "LoadSpec",
    "Progress",
    "Summary",
    "generate",
    "load",
]
