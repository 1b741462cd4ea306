"""The class path of Spark's JVM, and the archive of its classes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamsql.executor.spark.class_path import class_path_of
from streamsql.jvm.archives import archive_options, archive_path
from streamsql.jvm.java import Java


def test_ours_come_first_and_machine_learning_stays_out() -> None:
    ours = Path("/ours.jar")
    class_path = class_path_of([ours])
    assert class_path[0] == str(ours)
    assert any("/spark-sql_" in entry for entry in class_path)
    assert not any("/spark-mllib_" in entry for entry in class_path)


def test_an_archive_holds_for_the_jars_that_it_was_made_of(tmp_path: Path) -> None:
    java, jar = Java(tmp_path, tmp_path / "java", 17), tmp_path / "a.jar"
    jar.write_bytes(b"one")
    before = archive_path("spark", java, [str(jar)])
    assert archive_path("spark", java, [str(jar)]) == before
    assert archive_path("kafka", java, [str(jar)]) != before
    os.utime(jar, (1, 1))
    assert archive_path("spark", java, [str(jar)]) != before


def test_a_jvm_takes_the_archive_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMSQL_CACHE", str(tmp_path / "cache"))
    java, jar = Java(tmp_path, tmp_path / "java", 17), tmp_path / "a.jar"
    jar.touch()
    assert archive_options("kafka", java, [jar]) == []
    archive = archive_path("kafka", java, [jar])
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert archive_options("kafka", java, [jar]) == [f"-XX:SharedArchiveFile={archive}"]
    assert archive_options("spark", java, [jar]) == []
    to = tmp_path / "new.jsa"
    assert archive_options("kafka", java, [jar], to) == [f"-XX:ArchiveClassesAtExit={to}"]
