"""One served table's store in the JVM (io.streamsql.serving.ServedTable), as Python uses it."""

from __future__ import annotations

import os
import struct
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.executor.spark.java_maps import java_map

NICENESS = 10
"""Niceness of scan threads: they get a tenth of the CPU time of query threads under contention, and
all of it otherwise."""


class StoredTable:
    """The rows of one topic; thread-safe. Lives as long as the JVM it is in."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        topic: str,
        connection: Mapping[str, str],
        retention_ms: int | None,
    ) -> None:
        """Opens or creates the store and follows its topic. `connection` has the names of Kafka's
        Java client, with bootstrap.servers; rows older than the newest one's time minus the
        retention (ms) are removed."""
        self.spark = spark
        self.topic = topic
        self.complete = False
        """Whether all that was in the topic when it was opened is known to have been there: what
        the JVM said last, without asking it."""
        jvm = cast(Any, spark)._jvm
        settings = java_map(jvm, connection)
        retention = -1 if retention_ms is None else retention_ms
        try:
            self._java = jvm.io.streamsql.serving.ServedTable.open(
                str(folder), topic, settings, retention
            )
            _give_way(jvm.io.streamsql.serving.ScanThreads.ids())
        except JVM_FAILURES as error:
            raise broken(topic, error) from error

    def await_complete(self, seconds: float) -> None:
        """Wait until all that was in the topic when it was opened is there; ExternalError if it
        takes longer."""
        try:
            if self._java.awaitComplete(int(seconds * 1000)):
                self.complete = True
                return
            reason = self._java.failure()
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error
        raise ExternalError(
            f"the table of the topic {self.topic} is still being read",
            retryable=True,
            detail=None if reason is None else str(reason),
        )

    def was_complete(self) -> bool:
        """Whether all that was in the topic when it was opened has been there, once. Asks the
        JVM, unless that is known."""
        if not self.complete:
            with suppress(ExternalError):
                self.await_complete(0)
        return self.complete

    def await_positions(self, positions: Mapping[int, int], seconds: float) -> bool:
        """Whether, after at most that time, the store has taken in all before these offsets."""
        wanted = b"".join(struct.pack(">iq", p, offset) for p, offset in positions.items())
        try:
            # Named so that Python's own word is not in the way.
            return bool(getattr(self._java, "await")(wanted, int(max(0.0, seconds) * 1000)))
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error

    def positions(self) -> dict[int, int]:
        """The next offset of each partition."""
        try:
            lines = str(self._java.positions()).splitlines()
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error
        pairs = (line.split(" ") for line in lines)
        return {int(partition): int(offset) for partition, offset in pairs}

    def lag(self) -> int | None:
        """How many records the store is behind its topic; None while that is not known."""
        try:
            lag = int(self._java.lag())
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error
        return None if lag < 0 else lag

    def rows(self) -> int:
        """About how many rows there are."""
        try:
            return int(self._java.rows())
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error

    def lookups(self, program: Any, suffix: int) -> KeyLookups:
        """Key lookups with a program; `suffix` as in `window_bytes`."""
        server = cast(Any, self.spark)._jvm.io.streamsql.serving.LookupServer
        return KeyLookups(self.topic, self._java.lookups(program, suffix), server)

    def scan(self, program: Any, low: bytes | None, high: bytes | None) -> Generator[bytes]:
        """A program's results for all rows with keys between the two, inclusive."""
        try:
            rows = self._java.scan(program, low, high)
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error
        yield from scanned(rows, self.topic)

    def ask(self, query: Any, reader: Any) -> None:
        """Let the table be the next one of a Java TablesQuery, read by a Java CompiledPlan."""
        try:
            query.add(self._java, reader)
        except JVM_FAILURES as error:
            raise broken(self.topic, error) from error

    def close(self) -> None:
        """Stops following; the store stays on disk."""
        try:
            self._java.close()
        except JVM_FAILURES:
            return  # the JVM is gone, and the store with it


class KeyLookups:
    """One query's lookups of keys in one table."""

    def __init__(self, topic: str, java: Any, server: Any) -> None:
        """`server` is the Java class LookupServer."""
        self._topic = topic
        self._java = java
        self._server = server

        self.number = 0
        """By which channel.py asks for them, once they are registered."""

    def register(self) -> None:
        """Let channel.py ask for them, until they are closed."""
        try:
            self.number = int(self._server.register(self._java))
        except JVM_FAILURES as error:
            raise broken(self._topic, error) from error

    def close(self) -> None:
        with suppress(*JVM_FAILURES):
            self._server.release(self.number)

    def get(self, keys: bytes) -> list[bytes]:
        """The results for keys as `keys.packed` makes them."""
        try:
            return split(self._java.get(keys))
        except JVM_FAILURES as error:
            raise broken(self._topic, error) from error

    def rehearse(self, keys: bytes) -> list[bytes]:
        """As `get`, but of a table that may be incomplete: nothing to answer with."""
        try:
            return split(self._java.rehearse(keys))
        except JVM_FAILURES as error:
            raise broken(self._topic, error) from error


def scanned(rows: Any, topic: str) -> Iterator[bytes]:
    """Results of a Java ScannedRows, which is closed at the end; `topic`: of its table."""
    try:
        try:
            while (piece := rows.next()) is not None:
                yield from split(bytes(piece))
        finally:
            rows.close()
    except JVM_FAILURES as error:
        raise broken(topic, error) from error


def _give_way(threads: Iterable[int]) -> None:
    """Let threads of the JVM go after all others, for as long as they live."""
    for thread in threads:
        with suppress(OSError):  # the JVM has exited: its next caller gets the error
            os.setpriority(os.PRIO_PROCESS, int(thread), NICENESS)


def split(packed: bytes) -> list[bytes]:
    """Byte strings out of one, each after its length."""
    found = []
    at, end = 0, len(packed)
    while at < end:
        begin = at + 4
        at = begin + int.from_bytes(packed[at:begin], "big")
        found.append(packed[begin:at])
    return found


def broken(topic: str, error: Exception) -> ExternalError:
    """The error for a store that cannot be read."""
    if isinstance(error, Py4JJavaError):
        detail = str(error.java_exception.getMessage() or error.java_exception.toString())
    else:
        detail = str(error)
    return ExternalError(
        f"the table of the topic {topic} cannot be read at present", retryable=True, detail=detail
    )
