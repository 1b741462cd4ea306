"""A disk that is soon full, for tests: a tmpfs in the place of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20


class SmallDisk:
    """A folder on a disk of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / ".ballast"

    def fill(self) -> None:
        """Leave not a byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (MIB, 4096, 1):
                try:
                    while file.write(b"\0" * size) == size:
                        pass
                except OSError:
                    continue
                if size == 1:
                    return

    def empty(self) -> None:
        """Have space again."""
        self._ballast.unlink()

    def read_only(self, on: bool) -> None:
        """Refuse to be written, or take it again."""
        _run("mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.folder))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """The folder, with what is in it, on a disk of that many megabytes. For root alone."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a disk")
    kept = folder.with_name(f"{folder.name}.kept")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder, kept)
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    except subprocess.CalledProcessError:
        shutil.rmtree(kept)
        pytest.skip("no disk can be mounted here")
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.rmtree(kept)
        yield SmallDisk(folder)
    finally:
        # What is still open goes with the last who has it.
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
