"""The archives of Spark's classes that stay when a new one is made."""

from __future__ import annotations

import os
from pathlib import Path

from streamsql.executor.class_archive import OTHERS, make_room


def test_of_other_jars_the_newest_archives_are_kept(tmp_path: Path) -> None:
    archives = [tmp_path / f"spark-{n}.jsa" for n in range(OTHERS + 2)]
    for age, archive in enumerate(archives):
        archive.touch()
        os.utime(archive, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / ".lock").touch()
    make_room(tmp_path)
    assert sorted(tmp_path.iterdir()) == [tmp_path / ".lock", *archives[:OTHERS]]
