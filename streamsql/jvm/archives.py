"""Class data archives (AppCDS) of the JVMs: their classes, parsed and verified once.

An archive holds for one Java and one class path; without it a JVM starts more slowly.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from streamsql.jvm.cache import cache_dir
from streamsql.jvm.java import Java

Program = Literal["spark", "kafka"]


def archive_path(program: Program, java: Java, class_path: Sequence[str | Path]) -> Path:
    """Where the archive is, or would be."""
    key = hashlib.sha256(f"{java.home} {java.version}".encode())
    for entry in class_path:
        stat = os.stat(entry)
        key.update(f"{entry} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return cache_dir() / "cds" / f"{program}-{key.hexdigest()[:16]}.jsa"


def archive_options(
    program: Program,
    java: Java,
    class_path: Sequence[str | Path],
    archive_to: Path | None = None,
) -> list[str]:
    """Options of a JVM with this class path: its archive, if there is one. `archive_to`: where it
    writes its classes on exit instead."""
    if archive_to is not None:
        return [f"-XX:ArchiveClassesAtExit={archive_to}"]
    archive = archive_path(program, java, class_path)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []
