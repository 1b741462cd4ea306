"""An object store as seen from Python: files by their URLs. Who talks to it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streamsql.errors import InternalError

SCHEME = "s3a"
SCHEMES = (SCHEME, "s3")
"""Of URLs: `s3:` is what others call the same."""


class StoreFiles(Protocol):
    """Files by their URLs. All raise ExternalError where the store does not answer, or refuses; so
    what cannot be looked at is never taken for what is not there."""

    def read(self, url: str) -> bytes | None:
        """What is in a file; None: there is none."""

    def write(self, url: str, content: bytes) -> None:
        """Have a file hold this, whole or not at all."""

    def names(self, url: str) -> list[str]:
        """Of the files and folders in a folder; none of what is none."""

    def exists(self, url: str) -> bool:
        """Whether there is such a file or folder."""

    def delete(self, url: str) -> None:
        """A file, or a folder with all in it; does nothing if there is none."""

    def copy(self, url: str, to: str) -> None:
        """A file, or all that is in a folder, over what is there."""


@dataclass(frozen=True)
class Kept:
    """What is known of a folder by those who delete it or have it be elsewhere."""

    owner: str
    """The file that says whose it is."""
    nobody: str
    """What that says of a folder that is nobody's."""
    notes: tuple[str, ...]
    """The small files that are needed after it."""


class StorePath:
    """A file or folder of an object store: the part of pathlib's interface that is needed. A folder
    is there as long as a file is in it, and nothing is renamed."""

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
        """The last part."""
        return self._url.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """The folder that it is in."""
        return StorePath(self._url.rpartition("/")[0], self._files)

    def with_name(self, name: str) -> StorePath:
        """Another one in the same folder."""
        return self.parent / name

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        return self._files().exists(self._url)

    def read_bytes(self) -> bytes:
        """What is in a file; FileNotFoundError where there is none."""
        found = self._files().read(self._url)
        if found is None:
            raise FileNotFoundError(f"there is no {self._url}")
        return found

    def read_text(self, encoding: str = "utf-8") -> str:
        """The same as text."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: bytes) -> None:
        """Have the file hold this, whole or not at all."""
        self._files().write(self._url, content)

    def iterdir(self) -> list[StorePath]:
        """What is in a folder."""
        return [self / name for name in self._files().names(self._url)]

    def delete(self) -> None:
        """The file, or the folder with all in it, if there is one."""
        self._files().delete(self._url)

    def copy(self, to: StorePath) -> None:
        """A file, or all that is in a folder, over what is there."""
        self._files().copy(self._url, str(to))

    # -- steps that a crash may come between -----------------------------------------------------

    def set_aside(self, aside: StorePath, kept: Kept) -> bool:
        """Delete a folder but for what is kept of it, elsewhere; whether there was one.

        Before anything else the owner's file says that it is nobody's: whoever meets what a crash
        has left of the folder sets it aside again.
        """
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
        """Copy a folder to where none is, and delete it. The owner's file comes last, here and
        there, and what is kept of a folder comes just before it, and goes first: so a copy that is
        not whole is nobody's, and a folder that is still there beside one that is whole is all that
        a crash has left."""
        names = self._names()
        late = [name for name in (*kept.notes, kept.owner) if name in names]
        for name in [*(name for name in names if name not in late), *late]:
            (self / name).copy(target / name)
        self.let_go(kept)

    def let_go(self, kept: Kept) -> None:
        """Delete the folder, in the order that put_in_place says."""
        names = self._names()
        first = [name for name in kept.notes if name in names]
        for name in [*first, *(n for n in names if n not in first and n != kept.owner)]:
            (self / name).delete()
        (self / kept.owner).delete()
        self.delete()

    def _names(self) -> list[str]:
        return self._files().names(self._url)


def no_store() -> StoreFiles:
    """For who knows where the files are, and asks for none."""
    raise InternalError("there is nobody to ask for the files of a store")


def is_url(text: str) -> bool:
    """Whether a text names no local folder."""
    return "://" in text
