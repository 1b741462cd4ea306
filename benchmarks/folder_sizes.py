"""How large a folder is that is being written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def size_of(folder: Path) -> tuple[int, int]:
    """Bytes and number of all files below; what is renamed or deleted meanwhile does not count."""
    size = count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += os.path.getsize(os.path.join(parent, name))
                count += 1
    return size, count
