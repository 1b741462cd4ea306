"""Opening the input and cutting its text into blocks of whole lines.

Blocks hold what has arrived, so that records of a slow pipe do not wait for a full block.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from typing import IO, cast

from streamsql.load.spec import STDIN, LoadSpec, unreadable

BLOCK_BYTES = 1 << 20


class Input:
    """An open input: its bytes, and how much of the file behind it has been read."""

    def __init__(self, spec: LoadSpec) -> None:
        """Opens the file, unpacking .gz and .zip; ExternalError where it cannot be."""
        self.name = spec.name
        self.size: int | None = None
        self.live = True
        """Whether more may arrive: a pipe, which is read as it fills."""
        try:
            self._raw, self.stream = self._open(spec.source)
        except (OSError, zipfile.BadZipFile) as error:
            raise unreadable(spec.name, getattr(error, "strerror", None) or error) from error

    def _open(self, source: str) -> tuple[IO[bytes], IO[bytes]]:
        if source == STDIN:
            raw: IO[bytes] = sys.stdin.buffer
            return raw, raw
        raw = open(source, "rb")
        status = os.fstat(raw.fileno())
        if stat.S_ISREG(status.st_mode):
            self.size, self.live = status.st_size, False
        try:
            return raw, _unpacked(raw, source.lower())
        except BaseException:
            raw.close()
            raise

    def position(self) -> int:
        """Bytes read of the file as it lies on disk."""
        return self._raw.tell() if self.size is not None else 0

    def read(self) -> bytes:
        """At most one block; empty at the end."""
        try:
            if isinstance(self.stream, io.BufferedReader):
                return self.stream.read1(BLOCK_BYTES)
            return self.stream.read(BLOCK_BYTES)
        except (OSError, EOFError, zipfile.BadZipFile) as error:
            raise unreadable(self.name, error) from error

    def close(self) -> None:
        if self._raw is not sys.stdin.buffer:
            self.stream.close()
            self._raw.close()

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unpacked(raw: IO[bytes], name: str) -> IO[bytes]:
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if name.endswith(".zip"):
        archive = zipfile.ZipFile(raw)
        files = [entry for entry in archive.namelist() if not entry.endswith("/")]
        if len(files) != 1:
            raise zipfile.BadZipFile(f"holds {len(files)} files, not one")
        return archive.open(files[0])
    return raw


def line_blocks(source: Input) -> Iterator[bytes]:
    pieces: list[bytes] = []
    while block := source.read():
        end = block.rfind(b"\n") + 1
        if not end:
            pieces.append(block)
            continue
        yield b"".join([*pieces, block[:end]])
        pieces = [block[end:]]
    if rest := b"".join(pieces):
        yield rest
