"""An object store with the interface of pathlib."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streamsql.errors import InternalError

SCHEME = "s3a"
SCHEMES = (SCHEME, "s3")
"""Supported URL schemes; `s3:` is a synonym."""


class StoreFiles(Protocol):
    """Access to files by URL. All methods raise ExternalError if the store does not respond or
    denies access, so an unknown file is never treated as missing."""

    def read(self, url: str) -> bytes | None: ...

    def write(self, url: str, content: bytes) -> None: ...

    def names(self, url: str) -> list[str]: ...

    def exists(self, url: str) -> bool: ...

    def delete(self, url: str) -> None: ...

    def copy(self, url: str, to: str) -> None: ...


@dataclass(frozen=True)
class Kept:
    """The part of a folder that is preserved when it is deleted or moved."""

    owner: str
    nobody: str
    notes: tuple[str, ...]


class StorePath:
    """A file or folder of an object store, with the subset of pathlib's interface that is needed. A
    folder exists while it contains a file. There is no rename."""

    def __init__(self, url: str, files: Callable[[], StoreFiles]) -> None:
        self._url = url.rstrip("/")
        self._files = files

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"StorePath({self._url!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and self._url == other._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self._url}/{name}", self._files) if name else self

    @property
    def name(self) -> str:
        return self._url.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        return StorePath(self._url.rpartition("/")[0], self._files)

    def with_name(self, name: str) -> StorePath:
        return self.parent / name

    def exists(self) -> bool:
        return self._files().exists(self._url)

    def read_bytes(self) -> bytes:
        found = self._files().read(self._url)
        if found is None:
            raise FileNotFoundError(f"there is no {self._url}")
        return found

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: bytes) -> None:
        self._files().write(self._url, content)

    def iterdir(self) -> list[StorePath]:
        return [self / name for name in self._files().names(self._url)]

    def delete(self) -> None:
        self._files().delete(self._url)

    def copy(self, to: StorePath) -> None:
        """Overwrites the target."""
        self._files().copy(self._url, str(to))

    # -- crash-safe steps --------------------------------------------------------------------------

    def set_aside(self, aside: StorePath, kept: Kept) -> bool:
        """Deletes a folder except for the preserved part, which is copied elsewhere; False if it
        did not exist. The owner file is first marked as unowned, so that the next caller resumes
        after a crash."""
        names = self._names()
        if not names:
            return False
        (self / kept.owner).write_bytes(kept.nobody.encode())
        for name in names:
            if name in kept.notes:
                (self / name).copy(aside / name)
        self.let_go(kept)
        return True

    def put_in_place(self, target: StorePath, kept: Kept) -> None:
        """Copies a folder to a free name, and deletes it. The owner file is written last and
        deleted last, and the preserved part just before it. A partial copy is therefore unowned,
        and a source next to a complete copy is a leftover of a crash."""
        names = self._names()
        late = [name for name in (*kept.notes, kept.owner) if name in names]
        for name in [*(name for name in names if name not in late), *late]:
            (self / name).copy(target / name)
        self.let_go(kept)

    def let_go(self, kept: Kept) -> None:
        names = self._names()
        first = [name for name in kept.notes if name in names]
        for name in [*first, *(n for n in names if n not in first and n != kept.owner)]:
            (self / name).delete()
        (self / kept.owner).delete()
        self.delete()

    def _names(self) -> list[str]:
        return self._files().names(self._url)


def no_store() -> StoreFiles:
    """For callers without an object store."""
    raise InternalError("object-store files are not accessible here")


def is_url(text: str) -> bool:
    """Whether a text is a URL rather than a local folder."""
    return "://" in text
