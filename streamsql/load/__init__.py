"""Data in: files, pipes and made-up records into topics."""

from __future__ import annotations

from streamsql.load.datagen import SCHEMAS, GenerateSpec, generate
from streamsql.load.loader import load
from streamsql.load.nexmark import COLUMNS as NEXMARK_COLUMNS
from streamsql.load.nexmark import NEXMARK, generate_nexmark
from streamsql.load.spec import KeyColumn, LoadSpec, Progress, Summary

__all__ = [
    "NEXMARK",
    "NEXMARK_COLUMNS",
    "SCHEMAS",
    "GenerateSpec",
    "KeyColumn",
    "LoadSpec",
    "Progress",
    "Summary",
    "generate",
    "generate_nexmark",
    "load",
]
