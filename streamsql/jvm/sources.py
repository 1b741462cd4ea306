"""Checks whether a jar of the JVM part was built from given Java sources. Standard library only:
the wheel's build hook loads this file alone."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

HASH_ENTRY = "META-INF/streamsql-sources"
"""The jar's entry that holds the hash of the sources it was built from."""


def java_sources(folder: Path) -> list[Path]:
    """All Java sources below `folder`, sorted; none in an installed wheel."""
    return sorted(folder.rglob("*.java"))


def hash_of_sources(folder: Path) -> str:
    """16 hexadecimal digits that change with any name or any content of the sources."""
    digest = hashlib.sha256()
    for source in java_sources(folder):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:16]


def hash_in_jar(jar: Path) -> str | None:
    """The hash recorded in a jar; None for a jar that is missing, broken or not ours."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(HASH_ENTRY).decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
