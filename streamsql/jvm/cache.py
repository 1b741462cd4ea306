"""Where downloaded and built files live, and how several processes share that folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from streamsql.errors import ConfigError


def cache_dir() -> Path:
    """The user's cache folder for streamsql, or the folder that STREAMSQL_CACHE names.

    Raises ConfigError where the folder cannot be made.
    """
    chosen = os.environ.get("STREAMSQL_CACHE")
    path = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("streamsql"))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot use the cache folder {path}: {error.strerror}",
            hint="Name another folder with the environment variable STREAMSQL_CACHE.",
        ) from error
    return path.absolute()


@contextmanager
def exclusive(lock_file: Path) -> Iterator[None]:
    """Hold `lock_file` against all other processes; waits for as long as another one works."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
