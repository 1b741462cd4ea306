"""The jars that PySpark lacks: which ones (jars.lock), where they lie, that they are genuine.

They are fetched once into the cache folder and only looked at afterwards. How they are fetched
is left to ivy.py, how progress is shown to the caller.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from streamsql.errors import ExternalError
from streamsql.jvm import ivy
from streamsql.jvm.cache import cache_dir, exclusive
from streamsql.jvm.lock import Group, Jar, locked_jars

Progress = Callable[[int, int, str], None]
"""Called with how many jars are there, how many there will be, and the last one's name."""


def ensure_jars(group: Group, progress: Progress | None = None) -> list[Path]:
    """The group's jars as local files, downloaded if missing. `progress` is called during downloads
    only. ExternalError for a jar that is unavailable or has a wrong checksum."""
    return ensure(group, locked_jars(group), cache_dir() / "jars", progress)


def ensure(
    name: str, jars: Sequence[Jar], folder: Path, progress: Progress | None = None
) -> list[Path]:
    """As `ensure_jars`, for any jars and folder; `name` names the marker of verified files."""
    paths = [folder / jar.path for jar in jars]
    marker = folder / f"{name}.verified"
    if not _is_verified(marker, jars, folder):
        with exclusive(folder / ".lock"):
            if not _is_verified(marker, jars, folder):
                _verify_or_fetch(jars, folder, progress)
                _write_marker(marker, jars, folder)
    return paths


def _verify_or_fetch(jars: Sequence[Jar], folder: Path, progress: Progress | None) -> None:
    missing = []
    for jar in jars:
        if (folder / jar.path).is_file():
            check(jar, folder / jar.path)
        else:
            missing.append(jar)
    if not missing:
        return
    for leftover in folder.glob(".fetch-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    done = len(jars) - len(missing)

    def downloaded(name: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, len(jars)), len(jars), name)

    if progress is not None:
        progress(done, len(jars), "")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as temporary:
        ivy.fetch(missing, Path(temporary), downloaded)
        for jar in missing:
            check(jar, Path(temporary) / jar.path)
        for jar in missing:
            (folder / jar.path).parent.mkdir(exist_ok=True)
            os.replace(Path(temporary) / jar.path, folder / jar.path)


def check(jar: Jar, path: Path) -> None:
    """Remove the file and raise ExternalError unless it has the lock file's checksum."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found == jar.sha256:
        return
    path.unlink()
    raise ExternalError(
        f"wrong checksum of {jar.coordinates}",
        detail=f"Expected SHA-256 {jar.sha256},\nfound {found}.\nThe file was removed.",
        hint="Run the command again to download it again. If that does not help, the repository "
        "or mirror serves another file than the one streamsql was released with.",
    )


def _stamp(jars: Sequence[Jar], folder: Path) -> list[list[str | int]]:
    """A cheap fingerprint of a verified file to detect changes."""
    stamp: list[list[str | int]] = []
    for jar in jars:
        stat = (folder / jar.path).stat()
        stamp.append([jar.sha256, stat.st_size, stat.st_mtime_ns])
    return stamp


def _is_verified(marker: Path, jars: Sequence[Jar], folder: Path) -> bool:
    try:
        return bool(json.loads(marker.read_text("utf-8")) == _stamp(jars, folder))
    except (OSError, ValueError):
        return False


def _write_marker(marker: Path, jars: Sequence[Jar], folder: Path) -> None:
    temporary = marker.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(_stamp(jars, folder)), encoding="utf-8")
    os.replace(temporary, marker)
