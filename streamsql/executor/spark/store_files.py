"""Files of an object store, by Hadoop's client in Spark's JVM: what places/store.py asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import SPARK_FAILURES

SETTINGS: Mapping[str, str] = {
    "spark.sql.streaming.checkpointFileManagerClass": "io.streamsql.files.CheckpointFiles",
    # The store and its client have their own checksums; a checksum file would be a further request,
    # and not atomic.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""Settings of Spark with checkpoints in a store."""

DEFAULTS: Mapping[str, str] = {
    # Other implementations require further jars.
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
    "spark.hadoop.fs.s3a.audit.enabled": "false",
    # Uploads are buffered in the JVM's temporary files, not in a shared folder.
    "spark.hadoop.fs.s3a.buffer.dir": "${java.io.tmpdir}/s3a",
    # A folder exists while it contains a file: parent folders need no markers.
    "spark.hadoop.fs.s3a.performance.flags": "create,delete,mkdir",
    # An unavailable store is reported soon; the query waits and retries.
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
    "spark.hadoop.fs.s3a.retry.limit": "3",
}
"""That a user may change."""


class SparkStoreFiles:
    """See places.store.StoreFiles."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._java = Bridge.of(spark).store_files()

    def read(self, url: str) -> bytes | None:
        """Content of a file; None if it does not exist."""
        found = self._asked(url, lambda: self._java.read(url))
        return None if found is None else bytes(found)

    def write(self, url: str, content: bytes) -> None:
        """Writes a file atomically."""
        self._asked(url, lambda: self._java.write(url, content))

    def names(self, url: str) -> list[str]:
        return [str(name) for name in self._asked(url, lambda: self._java.names(url))]

    def exists(self, url: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._asked(url, lambda: self._java.exists(url)))

    def delete(self, url: str) -> None:
        self._asked(url, lambda: self._java.delete(url))

    def copy(self, url: str, to: str) -> None:
        self._asked(url, lambda: self._java.copy(url, to))

    def _asked(self, url: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except SPARK_FAILURES as error:
            raise ExternalError(
                f"the store of {url} fails",
                retryable=True,
                detail=_reason(error),
            ) from error


def _reason(error: Exception) -> str:
    """Without the hundred lines of where it was thrown."""
    return str(getattr(error, "java_exception", error))
