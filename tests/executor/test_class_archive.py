"""The class data archives that stay when a new one is made."""

from __future__ import annotations

import os
from pathlib import Path

from streamsql.executor.class_archive import OTHERS, make_room


def test_of_other_jars_the_newest_archives_are_kept(tmp_path: Path) -> None:
    archives = [tmp_path / f"spark-{n}.jsa" for n in range(OTHERS + 2)]
    for age, archive in enumerate(archives):
        archive.touch()
        os.utime(archive, (1_000_000 - age, 1_000_000 - age))
    others = [tmp_path / ".lock", tmp_path / "kafka-0.jsa"]
    for other in others:
        other.touch()
    make_room(tmp_path, "spark")
    assert sorted(tmp_path.iterdir()) == [*others, *archives[:OTHERS]]
