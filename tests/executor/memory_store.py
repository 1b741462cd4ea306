"""An object store in memory, whose client may be killed between any two requests."""

from __future__ import annotations

from streamsql.storage.store import StorePath


class Killed(BaseException):
    """Nothing that is expected: no handler is to see to it."""


class MemoryStore:
    """Files by their URLs; after `left` more requests that change something the client is dead."""

    def __init__(self, files: dict[str, bytes] | None = None, left: int = 1_000) -> None:
        self.files = dict(files or {})
        self.left = left

    def place(self, url: str) -> StorePath:
        return StorePath(url, lambda: self)

    def read(self, url: str) -> bytes | None:
        return self.files.get(url)

    def write(self, url: str, content: bytes) -> None:
        self._changes()
        self.files[url] = content

    def names(self, url: str) -> list[str]:
        inside = (name.removeprefix(url + "/") for name in self.files if name.startswith(url + "/"))
        return sorted({name.partition("/")[0] for name in inside})

    def exists(self, url: str) -> bool:
        return bool(self._under(url))

    def delete(self, url: str) -> None:
        for name in self._under(url):
            self._changes()
            del self.files[name]

    def copy(self, url: str, to: str) -> None:
        for name in self._under(url):
            self._changes()
            self.files[to + name.removeprefix(url)] = self.files[name]

    def _under(self, url: str) -> list[str]:
        return [name for name in self.files if name == url or name.startswith(url + "/")]

    def _changes(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1
