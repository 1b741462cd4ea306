"""Spark's local files: links, permissions, renames, durability, and checkpoints that Hadoop's own
local file system has written."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NONE: Mapping[str, str] = MappingProxyType({})
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


class Files:
    """Hadoop's two ways to files, as Spark takes them from a configuration."""

    def __init__(self, spark: SparkSession, settings: Mapping[str, str] = NONE) -> None:
        self.jvm: Any = spark._jvm
        self.hadoop = self.jvm.org.apache.hadoop
        conf = self.hadoop.conf.Configuration(cast(Any, spark)._jsc.hadoopConfiguration())
        for name, value in settings.items():
            conf.set(name, value)
        uri = self.jvm.java.net.URI("file:///")
        self.context = self.hadoop.fs.FileContext.getFileContext(uri, conf)
        self.system = self.hadoop.fs.FileSystem.newInstance(uri, conf)

    def path(self, path: Path) -> Any:
        return self.hadoop.fs.Path(str(path))

    def array(self, kind: str, length: int) -> Any:
        return self.jvm.java.lang.reflect.Array.newInstance(
            self.jvm.java.lang.Class.forName(kind), length
        )

    def write(self, path: Path, data: bytes) -> None:
        """As Spark writes the temporary file of a checkpoint."""
        flag = self.hadoop.fs.CreateFlag
        flags = self.jvm.java.util.EnumSet.of(flag.CREATE, flag.OVERWRITE)
        options = self.array("org.apache.hadoop.fs.Options$CreateOpts", 0)
        out = self.context.create(self.path(path), flags, options)
        out.write(data)
        out.close()

    def read(self, path: Path) -> bytes:
        """By the file system that looks at .crc files."""
        stream = self.system.open(self.path(path))
        try:
            return bytes(self.jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def rename(self, source: Path, target: Path, how: str) -> None:
        options = self.array("org.apache.hadoop.fs.Options$Rename", 1)
        options[0] = (
            options.getClass().getComponentType().getEnumConstants()[int(how == "OVERWRITE")]
        )
        self.context.rename(self.path(source), self.path(target), options)


@pytest.fixture
def files(spark: SparkSession) -> Files:
    return Files(spark)


def raises(kind: str, act: Callable[[], object]) -> None:
    with pytest.raises(Py4JJavaError) as caught:
        act()
    assert caught.value.java_exception.getClass().getName() == kind


def test_both_ways_are_ours(files: Files) -> None:
    ours = "io.streamsql.files"
    assert files.context.getDefaultFileSystem().getClass().getName() == f"{ours}.LocalFiles"
    assert files.system.getClass().getName() == f"{ours}.CheckedLocalFiles"


def test_a_link_is_told_from_what_it_points_to(files: Files, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"12345")
    link.symlink_to("target")
    for way in (files.context, files.system):
        status = way.getFileLinkStatus(files.path(link))
        assert (status.isSymlink(), status.isFile()) == (True, False)
        assert status.getSymlink().toString() == f"file:{target}"
        assert way.getFileStatus(files.path(link)).getLen() == 5
        assert not way.getFileLinkStatus(files.path(target)).isSymlink()
        assert way.getLinkTarget(files.path(link)).getName() == "target"


def test_a_name_is_the_same_however_a_file_is_asked_for(files: Files, tmp_path: Path) -> None:
    (tmp_path / "a b%:c").touch()
    names = set()
    for prefix in ("", "file:", "file://"):
        folder = files.hadoop.fs.Path(f"{prefix}{tmp_path}")
        [listed] = files.system.listStatus(folder)
        names.add(listed.getPath().toUri().toString())
    assert names == {f"file://{tmp_path}/a%20b%25:c"}


def test_a_link_to_nothing(files: Files, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    status = files.context.getFileLinkStatus(files.path(link))
    assert status.isSymlink() and status.getOwner() == tmp_path.owner()
    raises("java.io.FileNotFoundException", lambda: files.context.getFileStatus(files.path(link)))
    assert files.context.delete(files.path(link), False)
    assert not link.is_symlink()


def test_deleting_a_link_leaves_what_it_points_to(files: Files, tmp_path: Path) -> None:
    kept = tmp_path / "folder" / "file"
    kept.parent.mkdir()
    kept.write_text("kept")
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "inner").symlink_to(kept.parent)
    (tmp_path / "link").symlink_to(kept.parent)
    assert files.context.delete(files.path(tmp_path / "link"), True)
    assert files.context.delete(files.path(outer), True)
    assert kept.read_text() == "kept" and not (tmp_path / "link").is_symlink()


def test_what_is_known_of_a_file(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"123")
    path.chmod(0o640)
    [status] = files.system.listStatus(files.path(path))
    assert (status.getLen(), status.getPermission().toString()) == (3, "rw-r-----")
    assert (status.getOwner(), status.getGroup()) == (path.owner(), path.group())
    assert status.getModificationTime() == path.stat().st_mtime_ns // 1_000_000
    raises(
        "java.io.FileNotFoundException",
        lambda: files.system.getFileStatus(files.path(tmp_path / "none")),
    )


@pytest.mark.parametrize(
    ("umask", "file", "folder"), [("022", 0o644, 0o755), ("077", 0o600, 0o700)]
)
def test_permissions_are_what_hadoops_umask_leaves(
    spark: SparkSession, tmp_path: Path, umask: str, file: int, folder: int
) -> None:
    files = Files(spark, {"fs.permissions.umask-mode": umask})
    files.context.mkdir(files.path(tmp_path / "a" / "b"), None, True)
    files.write(tmp_path / "a" / "file", b"")
    files.system.create(files.path(tmp_path / "a" / "other")).close()
    found = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert found == {"a": folder, "b": folder, "file": file, "other": file}


def test_permissions_can_be_set(files: Files, tmp_path: Path) -> None:
    mode = files.hadoop.fs.permission.FsPermission("1750")
    files.system.setPermission(files.path(tmp_path), mode)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1750
    assert files.system.getFileStatus(files.path(tmp_path)).getPermission().toShort() == 0o1750


def test_a_rename_replaces_in_one_step(files: Files, tmp_path: Path) -> None:
    target, done = tmp_path / "target", Event()
    target.write_bytes(b"old")
    missed = 0

    def look() -> None:
        nonlocal missed
        while not done.wait(0):
            missed += not target.exists()

    with ThreadPoolExecutor(1) as pool:
        watch = pool.submit(look)
        try:
            for number in range(100):
                source = tmp_path / f"source-{number}"
                source.write_bytes(b"%d" % number)
                files.rename(source, target, "OVERWRITE")
        finally:
            done.set()
        watch.result()
    assert (missed, target.read_bytes()) == (0, b"99")
    assert os.listdir(tmp_path) == ["target"]


def test_of_several_who_give_one_name_one_succeeds(files: Files, tmp_path: Path) -> None:
    def give(target: Path, number: int) -> int | None:
        source = tmp_path / f"{target.name}-{number}.tmp"
        source.write_bytes(b"%d" % number)
        try:
            files.rename(source, target, "NONE")
        except Py4JJavaError as error:
            assert "FileAlreadyExistsException" in str(error)
            return None
        return number

    for round in range(20):
        target = tmp_path / str(round)
        with ThreadPoolExecutor(4) as pool:
            given = list(pool.map(give, [target] * 4, range(4)))
        assert [b"%d" % n for n in given if n is not None] == [target.read_bytes()]


def test_what_cannot_be_renamed(files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    missing = "java.io.FileNotFoundException"
    raises(missing, lambda: files.rename(tmp_path / "none", tmp_path / "to", "NONE"))
    raises(missing, lambda: files.rename(tmp_path / "none", tmp_path / "to", "OVERWRITE"))
    raises(missing, lambda: files.rename(tmp_path / "file", tmp_path / "x" / "to", "NONE"))
    same = "org.apache.hadoop.fs.FileAlreadyExistsException"
    raises(same, lambda: files.rename(tmp_path / "file", tmp_path / "file", "OVERWRITE"))
    assert (tmp_path / "file").exists()


def test_a_checksum_that_hadoop_has_left_does_not_damn_a_new_file(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    hadoops = Files(spark, HADOOP_OWN)
    written, renamed, deleted = (tmp_path / n for n in ("written", "renamed", "deleted"))
    for path in (written, renamed, deleted):
        hadoops.write(path, b"before")
        assert (tmp_path / f".{path.name}.crc").exists()
    listed = files.context.util().listStatus(files.path(tmp_path))
    assert {status.getPath().getName() for status in listed} == {"written", "renamed", "deleted"}
    assert files.read(written) == b"before"
    files.write(written, b"after")
    files.write(tmp_path / "source", b"after")
    files.rename(tmp_path / "source", renamed, "OVERWRITE")
    files.context.delete(files.path(deleted), False)
    assert files.read(written) == files.read(renamed) == b"after"
    assert sorted(os.listdir(tmp_path)) == ["renamed", "written"]


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


def test_what_is_closed_or_renamed_is_on_the_disk(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "folder" / "target"
    (tmp_path / "folder").mkdir()
    with recording(spark, tmp_path, "jdk.FileForce") as events:
        files.write(source, b"x")
        files.rename(source, target, "NONE")
    forced = [event.getString("path") for event in events]
    assert forced == [str(source), str(tmp_path), str(target.parent), str(tmp_path)]


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
def configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_a_query_starts_no_process_for_its_files(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself runs `rm` to remove the working folder of a state store, RocksDB once `ldd`."""
    counting = Counting(spark, tmp_path, tmp_path / "checkpoint")
    with recording(spark, tmp_path, "jdk.ProcessStart") as events:
        counting.run("a", "b")
        counting.run("b")
    commands = [event.getString("command") for event in events]
    of_hadoop = [c for c in commands if c.split()[0] in ("chmod", "chown", "ls", "readlink")]
    assert not of_hadoop, "; ".join(of_hadoop)


@pytest.mark.parametrize("snapshots", [False, True])
def test_a_checkpoint_of_hadoops_files_goes_on(
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
