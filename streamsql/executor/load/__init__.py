"""Data in: files, pipes and made-up records into topics."""

from __future__ import annotations

from streamsql.executor.load.datagen import SCHEMAS, GenerateSpec, generate
from streamsql.executor.load.loader import load
from streamsql.executor.load.spec import KeyColumn, LoadSpec, Progress, Summary

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
