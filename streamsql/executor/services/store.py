"""Object-store access through Spark's Hadoop client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamsql.storage.store import StoreFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamsql.executor.spark.store_files import SparkStoreFiles


class Store:
    """Files through Spark's JVM; waits for Spark during startup, and restarts it after a crash."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._files: SparkStoreFiles | None = None

    def files(self) -> StoreFiles:
        """Raises ExternalError without Spark."""
        from streamsql.executor.spark.store_files import SparkStoreFiles

        session = self._session()
        with self._lock:
            if self._files is None or self._files.spark is not session:
                self._files = SparkStoreFiles(session)
            return self._files
