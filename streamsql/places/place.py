"""What is done with a checkpoint's files, be they on a disk or in an object store: here alone.

A place is a pathlib Path or looks like one. What both can do in the same way they are asked for
themselves: `/` and `name`. What is one step on a disk and many in a store, or has to be synced on a
disk, is a function here. `entries`, `read` and `exists` raise ExternalError where the answer is not
known, which is never the same as "there is none". The others raise OSError on a disk and
ExternalError in a store.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from streamsql.errors import ConfigError, ExternalError
from streamsql.places.store import SCHEME, SCHEMES, Kept, StoreFiles, StorePath, is_url

Place = Path | StorePath


def place_of(given: str | os.PathLike[str], files: Callable[[], StoreFiles]) -> Place:
    """A folder, or by its URL one in a store, which `files` is asked for. ConfigError for a URL
    that is none of ours."""
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
"""What alone says that there is no such file or folder."""


def entries(folder: Place) -> Sequence[Place]:
    """The files and folders in a folder; none where there is no such folder."""
    if isinstance(folder, StorePath):
        return folder.iterdir()
    try:
        return list(folder.iterdir())
    except _ABSENT:
        return []
    except OSError as error:
        raise _unknown("list", folder, error) from error


def read(file: Place) -> bytes | None:
    """The content of a file; None where there is no such file."""
    try:
        return file.read_bytes()
    except _ABSENT:
        return None
    except OSError as error:
        raise _unknown("read", file, error) from error


def exists(place: Place) -> bool:
    """Whether there is such a file or folder."""
    if isinstance(place, StorePath):
        return place.exists()
    try:
        place.stat()
    except _ABSENT:
        return False
    except OSError as error:
        raise _unknown("look for", place, error) from error
    return True


def _unknown(action: str, place: Place, error: OSError) -> ExternalError:
    return ExternalError(f"cannot {action} {place}: {error.strerror or error}", retryable=True)


def make(folder: Place) -> None:
    """Have the folder be there; a store needs none."""
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)


def write(file: Place, content: str) -> None:
    """Have a file, in a folder that may be missing, hold this, whole or not at all, and synced."""
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


def delete(file: Place) -> None:
    """Delete a file, if there is one."""
    if isinstance(file, StorePath):
        file.delete()
    else:
        file.unlink(missing_ok=True)


def let_go(folder: Place, kept: Kept) -> None:
    """Delete a folder that has been copied; what a crash leaves of it is still known to be that."""
    if isinstance(folder, StorePath):
        folder.let_go(kept)
    else:
        delete_folder(folder)


def delete_folder(folder: Place) -> None:
    """Delete a folder with all in it; what another does at the same time is done."""
    if isinstance(folder, StorePath):
        folder.delete()
        return
    while exists(folder):
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def copy_entry(entry: Place, to: Place) -> None:
    """Have a file or folder, whose files are never written over, be in another place too: on a disk
    by links, where it has them."""
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


def set_aside(folder: Place, aside: Place, kept: Kept) -> bool:
    """Have a folder's name be free, and what is to be kept of it be elsewhere; whether there was
    such a folder. On a disk that is one step, and keeps all."""
    if isinstance(folder, StorePath):
        assert isinstance(aside, StorePath)
        return folder.set_aside(aside, kept)
    try:
        folder.rename(str(aside))
    except FileNotFoundError:
        return False
    return True


def put_in_place(folder: Place, target: Place, kept: Kept) -> None:
    """Have a folder be where none is, in one step on a disk: what a crash in the midst of it leaves
    in a store, StorePath.put_in_place says."""
    if isinstance(folder, StorePath):
        assert isinstance(target, StorePath)
        folder.put_in_place(target, kept)
    else:
        folder.rename(str(target))
