"""Files of an object store, by Hadoop's client in Spark's JVM: what places/store.py asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.failures import SPARK_FAILURES

SETTINGS: Mapping[str, str] = {
    "spark.sql.streaming.checkpointFileManagerClass": "io.streamsql.files.CheckpointFiles",
    # The store and its client have checksums of their own; a file beside each file is a request
    # more, and not written in one step with it.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""Of a Spark whose checkpoints are in a store."""

DEFAULTS: Mapping[str, str] = {
    # What else there is takes jars that are not among ours.
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
    "spark.hadoop.fs.s3a.audit.enabled": "false",
    # What is uploaded waits among the JVM's own temporary files, not in one folder for all of them.
    "spark.hadoop.fs.s3a.buffer.dir": "${java.io.tmpdir}/s3a",
    # A folder is there as long as a file is: nobody has to look after what is above it.
    "spark.hadoop.fs.s3a.performance.flags": "create,delete,mkdir",
    # A store that is away is to be told soon; the query waits for it, and tries again.
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
    "spark.hadoop.fs.s3a.retry.limit": "3",
}
"""That a user may change."""


class SparkStoreFiles:
    """See places.store.StoreFiles."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        java = cast(Any, spark)
        self._java = java._jvm.io.streamsql.files.StoreFiles(java._jsparkSession)

    def read(self, url: str) -> bytes | None:
        """What is in a file; None: there is none."""
        found = self._asked(url, lambda: self._java.read(url))
        return None if found is None else bytes(found)

    def write(self, url: str, content: bytes) -> None:
        """Have a file hold this, whole or not at all."""
        self._asked(url, lambda: self._java.write(url, content))

    def names(self, url: str) -> list[str]:
        """Of the files and folders in a folder."""
        return [str(name) for name in self._asked(url, lambda: self._java.names(url))]

    def exists(self, url: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._asked(url, lambda: self._java.exists(url)))

    def delete(self, url: str) -> None:
        """A file, or a folder with all in it."""
        self._asked(url, lambda: self._java.delete(url))

    def copy(self, url: str, to: str) -> None:
        """A file, or all that is in a folder."""
        self._asked(url, lambda: self._java.copy(url, to))

    def _asked(self, url: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except SPARK_FAILURES as error:
            raise ExternalError(
                f"the store of {url} fails",
                retryable=True,
                detail=_told(error),
            ) from error


def _told(error: Exception) -> str:
    """Without the hundred lines of where it was thrown."""
    return str(getattr(error, "java_exception", error))
