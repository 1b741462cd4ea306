"""Files of a real object store, as Spark's JVM writes them: which of two writers is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from stores.s3_server import BUCKET, S3Server, s3_server

from streamsql.errors import ExternalError
from streamsql.executor.queries.checkpoint import discard_others, discarded, id_of
from streamsql.executor.services.store import Store
from streamsql.executor.spark import store_files
from streamsql.executor.spark.session import SparkRuntime
from streamsql.storage.location import location_of
from streamsql.storage.store import StorePath

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = f"s3a://{BUCKET}/files"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3") / "server") as found:
        yield found


@pytest.fixture(scope="module")
def session(s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    runtime = SparkRuntime(
        tmp_path_factory.mktemp("spark"),
        master="local[4]",
        heap="512m",
        settings={**store_files.DEFAULTS, **s3.settings, **store_files.SETTINGS},
        further_jars=("s3",),
    )
    yield runtime.start()
    runtime.close()


@pytest.fixture
def folder(session: SparkSession, request: pytest.FixtureRequest) -> StorePath:
    found = location_of(f"{ROOT}/{request.node.name}", Store(lambda: session).files)
    assert isinstance(found, StorePath)
    return found


class Manager:
    """Spark's way to the files of a checkpoint."""

    def __init__(self, session: SparkSession, folder: StorePath) -> None:
        java = cast(Any, session)
        self._path = java._jvm.org.apache.hadoop.fs.Path
        conf = java._jsparkSession.sessionState().newHadoopConf()
        package = java._jvm.org.apache.spark.sql.execution.streaming.checkpointing
        self.java = package.CheckpointFileManager.create(self._path(str(folder)), conf)

    def begun(self, file: StorePath, content: bytes, *, overwrite: bool = False) -> Any:
        """A file that is there as soon as it is closed."""
        out = self.java.createAtomic(self._path(str(file)), overwrite)
        out.write(content)
        return out

    def names(self, folder: StorePath) -> list[str]:
        return [s.getPath().getName() for s in self.java.list(self._path(str(folder)))]


def test_files_as_python_knows_them(folder: StorePath) -> None:
    assert not folder.exists() and folder.iterdir() == []
    with pytest.raises(FileNotFoundError):
        (folder / "a").read_bytes()
    (folder / "a").write_bytes(b"\x00 one")
    (folder / "in" / "b").write_bytes(b"two")
    assert (folder / "a").read_bytes() == b"\x00 one"
    assert sorted(found.name for found in folder.iterdir()) == ["a", "in"]
    folder.copy(folder.with_name("copied"))
    assert (folder.with_name("copied") / "in" / "b").read_bytes() == b"two"
    (folder / "in").delete()
    (folder / "in").delete()
    # The server shows the folder for two minutes more.
    assert not (folder / "in").exists() and folder.iterdir() == [folder / "a"]


def test_of_two_that_write_a_batch_one_is_refused(session: SparkSession, folder: StorePath) -> None:
    leader, former = Manager(session, folder), Manager(session, folder)
    batch = folder / "offsets" / "7"
    mine, other = leader.begun(batch, b"leader's"), former.begun(batch, b"former's")
    assert not batch.exists()
    mine.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        other.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        former.begun(batch, b"again").close()
    assert batch.read_bytes() == b"leader's"
    leader.begun(batch, b"written over", overwrite=True).close()
    assert batch.read_bytes() == b"written over"
    cancelled = leader.begun(folder / "offsets" / "8", b"x")
    cancelled.cancel()
    assert leader.names(folder / "offsets") == ["7"] and leader.names(folder / "none") == []


def test_of_many_that_write_at_a_time_one_is_first(
    session: SparkSession, folder: StorePath
) -> None:
    manager, batch = Manager(session, folder), folder / "commits" / "1"
    writers = [manager.begun(batch, b"%d" % number) for number in range(8)]
    written = []

    def close(number: int) -> None:
        try:
            writers[number].close()
            written.append(number)
        except Py4JJavaError:
            pass

    threads = [threading.Thread(target=close, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [b"%d" % number for number in written] == [batch.read_bytes()]


def test_local_files_are_written_as_ever(session: SparkSession, tmp_path: Path) -> None:
    java = cast(Any, session)
    conf = java._jsparkSession.sessionState().newHadoopConf()
    path = java._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "offsets" / "0"))
    package = java._jvm.org.apache.spark.sql.execution.streaming.checkpointing
    manager = package.CheckpointFileManager.create(path.getParent(), conf)
    manager.mkdirs(path.getParent())
    out = manager.createAtomic(path, False)
    out.write(b"x")
    out.close()
    assert [p.name for p in (tmp_path / "offsets").iterdir()] == ["0"]
    assert [s.getPath().getName() for s in manager.list(path.getParent())] == ["0"]


def test_a_query_leaves_its_checkpoint_there(session: SparkSession, folder: StorePath) -> None:
    rows = session.readStream.format("rate").load().selectExpr("value % 3 AS k").groupBy("k")
    writer = rows.count().writeStream.outputMode("update").format("noop")
    for _ in range(2):
        query = writer.option("checkpointLocation", str(folder / "Q")).start()
        query.processAllAvailable()
        query.stop()
        assert query.exception() is None
    assert id_of(folder / "Q") == query.id
    discard_others(folder, {})
    assert not (folder / "Q").exists()
    assert [id_of(gone) for gone in discarded(folder)] == [query.id]


def test_a_store_that_is_away_is_not_taken_for_an_empty_one(
    s3: S3Server, folder: StorePath
) -> None:
    (folder / "a").write_bytes(b"x")
    s3.kill()
    try:
        with pytest.raises(ExternalError, match="the store of s3a://.* fails"):
            folder.iterdir()
    finally:
        s3.start()
    assert (folder / "a").read_bytes() == b"x"
