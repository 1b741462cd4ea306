"""File operations on checkpoints, on a disk or in an object store.

A place is a pathlib Path, or has the same interface for `/` and `name`. Operations that are one
step on a disk and several in a store, or that must be synced on a disk, are functions of this
module.

`entries`, `read` and `exists` raise ExternalError if the result is unknown, which is never the same
as "does not exist". The others raise OSError on a disk and ExternalError in a store.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from streamsql.errors import ConfigError, ExternalError
from streamsql.storage.store import SCHEME, SCHEMES, Kept, StoreFiles, StorePath, is_url

Location = Path | StorePath


def location_of(given: str | os.PathLike[str], files: Callable[[], StoreFiles]) -> Location:
    """A local folder, or an object-store path accessed through `files`. ConfigError for an
    unsupported URL."""
    if not isinstance(given, str) or not is_url(given):
        return Path(given)
    scheme, _, rest = given.partition("://")
    if scheme not in SCHEMES or not rest.strip("/"):
        raise ConfigError(
            f"{given}: checkpoints are kept in a folder, or in a bucket",
            hint="s3a://BUCKET/FOLDER; or mount the storage on all servers, and name the folder.",
        )
    return StorePath(f"{SCHEME}://{rest}", files)


_ABSENT = (FileNotFoundError, NotADirectoryError)
"""The errors that prove that a file or folder does not exist."""


def entries(folder: Location) -> Sequence[Location]:
    if isinstance(folder, StorePath):
        return folder.iterdir()
    try:
        return list(folder.iterdir())
    except _ABSENT:
        return []
    except OSError as error:
        raise _unknown("list", folder, error) from error


def read(file: Location) -> bytes | None:
    try:
        return file.read_bytes()
    except _ABSENT:
        return None
    except OSError as error:
        raise _unknown("read", file, error) from error


def exists(place: Location) -> bool:
    if isinstance(place, StorePath):
        return place.exists()
    try:
        place.stat()
    except _ABSENT:
        return False
    except OSError as error:
        raise _unknown("look for", place, error) from error
    return True


def _unknown(action: str, place: Location, error: OSError) -> ExternalError:
    return ExternalError(f"cannot {action} {place}: {error.strerror or error}", retryable=True)


def make(folder: Location) -> None:
    """Creates the folder; a no-op in a store."""
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)


def write(file: Location, content: str) -> None:
    """Writes a file atomically and syncs it; creates its folder."""
    if isinstance(file, StorePath):
        file.write_bytes(content.encode())
        return
    new = file.with_name(f".{file.name}.new")
    make(file.parent)
    with new.open("w", encoding="utf-8") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(new, file)


def delete(file: Location) -> None:
    if isinstance(file, StorePath):
        file.delete()
    else:
        file.unlink(missing_ok=True)


def let_go(folder: Location, kept: Kept) -> None:
    """Deletes a folder that has been copied, in an order that a crash can resume."""
    if isinstance(folder, StorePath):
        folder.let_go(kept)
    else:
        delete_folder(folder)


def delete_folder(folder: Location) -> None:
    """Deletes a folder recursively; tolerates concurrent deletion."""
    if isinstance(folder, StorePath):
        folder.delete()
        return
    while exists(folder):
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def copy_entry(entry: Location, to: Location) -> None:
    """Copies an immutable file or a folder to another place, on a disk by hard links where
    possible."""
    if isinstance(entry, StorePath):
        assert isinstance(to, StorePath)
        entry.copy(to)
    elif isinstance(entry, Path) and entry.is_dir():
        shutil.copytree(entry, str(to), copy_function=_linked)
    else:
        _linked(str(entry), str(to))


def _linked(file: str, to: str) -> None:
    try:
        os.link(file, to)
    except OSError:  # of another disk, or of one that has no links
        shutil.copy2(file, to)


def set_aside(folder: Location, aside: Location, kept: Kept) -> bool:
    """Moves a folder aside; False if it did not exist. Atomic on a disk. In a store only the part
    to keep is preserved."""
    if isinstance(folder, StorePath):
        assert isinstance(aside, StorePath)
        return folder.set_aside(aside, kept)
    try:
        folder.rename(str(aside))
    except FileNotFoundError:
        return False
    return True


def put_in_place(folder: Location, target: Location, kept: Kept) -> None:
    """Moves a folder to a free name. Atomic on a disk; StorePath.put_in_place describes the crash
    states of a store."""
    if isinstance(folder, StorePath):
        assert isinstance(target, StorePath)
        folder.put_in_place(target, kept)
    else:
        folder.rename(str(target))
