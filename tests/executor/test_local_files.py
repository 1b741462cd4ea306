"""Spark's queries over our local files, and over checkpoints that Hadoop's own have written.

What the files themselves do is in tests/jvm/java.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HADOOP_OWN = {
    "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
SNAPSHOTS = {
    # Not of changes alone: files of RocksDB are copied, and a zip of their names is written.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


@contextmanager
def recording(spark: SparkSession, folder: Path, *events: str) -> Iterator[list[Any]]:
    """Events of Java's flight recorder, once the block has ended."""
    jvm: Any = spark._jvm
    recorder, found = jvm.jdk.jfr.Recording(), list[Any]()
    for event in events:
        recorder.enable(event).withoutThreshold()
    recorder.start()
    try:
        yield found
    finally:
        recorder.stop()
        path = jvm.java.io.File(str(folder / "recording.jfr")).toPath()
        recorder.dump(path)
        recorder.close()
        found.extend(list(jvm.jdk.jfr.consumer.RecordingFile.readAllEvents(path)))


class Counting:
    """A query over a folder of texts that counts each word, driven batch by batch."""

    def __init__(self, spark: SparkSession, folder: Path, checkpoint: Path) -> None:
        self.spark, self.checkpoint = spark, checkpoint
        self.texts = folder / "texts"
        self.texts.mkdir()
        self.expected: Counter[str] = Counter()

    def run(self, *words: str) -> None:
        """One batch of these words; the counts are then right."""
        number = len(os.listdir(self.texts))
        staged = self.texts.parent / f"{number}.txt"
        staged.write_text("\n".join(words) + "\n")
        staged.rename(self.texts / staged.name)
        self.expected.update(words)
        counts = self.spark.readStream.text(str(self.texts)).groupBy("value").count()
        query = (
            counts.writeStream.outputMode("complete")
            .format("memory")
            .queryName("counts")
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        rows = self.spark.sql("SELECT * FROM counts").collect()
        assert {row["value"]: row["count"] for row in rows} == self.expected


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_a_query_starts_no_process_for_its_files(spark: SparkSession, tmp_path: Path) -> None:
    """Neither Hadoop nor Spark, which by itself removes working folders by `rm`. RocksDB runs `ldd`
    once."""
    counting = Counting(spark, tmp_path, tmp_path / "checkpoint")
    with recording(spark, tmp_path, "jdk.ProcessStart") as events:
        counting.run("a", "b")
        counting.run("b")
    commands = [event.getString("command") for event in events]
    others = [command for command in commands if "ldd" not in command.split()]
    assert not others, "; ".join(others)


@pytest.mark.parametrize("snapshots", [False, True])
def test_a_checkpoint_of_hadoops_files_continues(
    spark: SparkSession, tmp_path: Path, snapshots: bool
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    counting = Counting(spark, tmp_path, link / "checkpoint")
    with configured(spark, SNAPSHOTS if snapshots else {}):
        with configured(spark, HADOOP_OWN):
            for words in ("ab", "bc", "cd"):
                counting.run(*words)
        left = list(real.rglob(".*.crc"))
        assert left, "Hadoop's own writes checksums"
        for words in ("de", "ea", "ab", "bc"):
            counting.run(*words)
    assert set(real.rglob(".*.crc")) <= set(left)
    if snapshots:
        assert list(real.rglob("*.sst")) and list(real.rglob("*.zip"))
