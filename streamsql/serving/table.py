"""One served table's store in the JVM (io.streamsql.serving.ServedTable), as Python uses it."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES, SPARK_FAILURES, without_value

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
        epochs: str | None = None,
        history_ms: int = 0,
    ) -> None:
        """Opens or creates the store and follows its topic. `connection` has the names of Kafka's
        Java client, with bootstrap.servers; rows older than the newest one's time minus the
        retention (ms) are removed. `epochs`: of a view, the topic of epochs; the rows of past
        epochs are kept for `history_ms`."""
        self.spark = spark
        self.topic = topic
        self.complete = False
        """Whether all that was in the topic when it was opened is known to have been there: what
        the JVM said last, without asking it."""
        self._bridge = Bridge.of(spark)
        with reading(topic):
            self._java = self._bridge.open_table(
                str(folder), topic, connection, retention_ms, epochs, history_ms
            )
            _give_way(self._bridge.scan_threads())

    def await_complete(self, seconds: float) -> None:
        """Wait until all that was in the topic when it was opened is there; ExternalError if it
        takes longer."""
        with reading(self.topic):
            if self._java.awaitComplete(int(seconds * 1000)):
                self.complete = True
                return
            reason = self._java.failure()
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
        wanted = json.dumps(positions)
        with reading(self.topic):
            # Named so that Python's own word is not in the way.
            return bool(getattr(self._java, "await")(wanted, int(max(0.0, seconds) * 1000)))

    def positions(self) -> dict[int, int]:
        """The next offset of each partition."""
        with reading(self.topic):
            found = json.loads(str(self._java.positions()))
        return {int(partition): offset for partition, offset in found.items()}

    def lag(self) -> int | None:
        """How many records the store is behind its topic; None while that is not known."""
        with reading(self.topic):
            lag = int(self._java.lag())
        return None if lag < 0 else lag

    def rows(self) -> int:
        """About how many rows there are."""
        with reading(self.topic):
            return int(self._java.rows())

    def epoch(self) -> int:
        """Of a view: the epoch that its rows are of now; -1: of none, or between two."""
        return int(self._java.epoch())

    def has_epochs(self) -> bool:
        """Of a view: whether it has done an epoch."""
        with reading(self.topic):
            return bool(self._java.hasEpochs())

    def offer(self, choice: Any) -> None:
        """Lets a Java CommonEpoch choose among the epochs of a view."""
        self._java.addTo(choice)

    def lookups(self, program: Any, suffix: int, epoch: int | None = None) -> KeyLookups:
        """Key lookups with a program; `suffix` as in `window_bytes`; `epoch`: of a view, whose
        rows are read."""
        java = self._java.lookups(program, suffix, _number(epoch))
        return KeyLookups(self.topic, java, self._bridge)

    def scan(
        self, program: Any, low: bytes | None, high: bytes | None, epoch: int | None = None
    ) -> Generator[bytes]:
        """A program's results for all rows with keys between the two, inclusive."""
        with reading(self.topic):
            rows = self._java.scan(program, low, high, _number(epoch))
        yield from scanned(rows, self.topic)

    def records(self, epoch: int) -> EpochRecords:
        """Of a view, its records as of an epoch, for a Spark job; to be closed."""
        with reading(self.topic):
            return EpochRecords(self._java.records(cast(Any, self.spark)._jsparkSession, epoch))

    def ask(self, query: Any, reader: Any) -> None:
        """Let the table be the next one of a Java TablesQuery, read by a Java CompiledPlan."""
        with reading(self.topic):
            query.add(self._java, reader)

    def close(self) -> None:
        """Stops following; the store stays on disk."""
        try:
            self._java.close()
        except JVM_FAILURES:
            return  # the JVM is gone, and the store with it


def _number(epoch: int | None) -> int:
    return -1 if epoch is None else epoch


class EpochRecords:
    """The records of a view as of an epoch (io.streamsql.serving.EpochRecords)."""

    def __init__(self, java: Any) -> None:
        self._java = java
        # An answer that is never read does not close them.
        self._finalizer = weakref.finalize(self, _close, java)

    def frame(self, spark: SparkSession) -> DataFrame:
        """In the columns of Spark's Kafka source."""
        return ClassicDataFrame(self._java.frame(cast(Any, spark)._jsparkSession), spark)

    def close(self) -> None:
        self._finalizer()


def _close(java: Any) -> None:
    with suppress(*JVM_FAILURES):
        java.close()


class Registered:
    """A Java PreparedQuery, which channel.py asks by its number once it is registered."""

    def __init__(self, topic: str, java: Any, bridge: Bridge) -> None:
        self._topic = topic
        self._java = java
        self._bridge = bridge
        self.number = 0

    def register(self) -> None:
        """Let channel.py ask for it, until it is closed."""
        with reading(self._topic):
            self.number = self._bridge.register(self._java)

    def close(self) -> None:
        with suppress(*JVM_FAILURES):
            self._bridge.release(self.number)


class KeyLookups(Registered):
    """One query's lookups of keys in one table."""

    def get(self, keys: bytes) -> Found:
        """The results for keys as `keys.packed` makes them."""
        with reading(self._topic):
            return Found.of(self._java.get(keys))

    def rehearse(self, keys: bytes) -> Found:
        """As `get`, but of a table that may be incomplete: nothing to answer with."""
        with reading(self._topic):
            return Found.of(self._java.rehearse(keys))


class Found(NamedTuple):
    """The answer of KeyLookups."""

    epoch: int | None
    """As of which a view has been read; None: the table is no view, or is between two epochs."""
    results: list[bytes]

    @classmethod
    def of(cls, packed: bytes) -> Found:
        epoch = int.from_bytes(packed[:8], "big", signed=True)
        return cls(None if epoch < 0 else epoch, split(packed[8:]))


def scanned(rows: Any, topic: str) -> Iterator[bytes]:
    """Results of a Java ScannedRows, which is closed at the end; `topic`: of its table."""
    with reading(topic):
        try:
            while (piece := rows.next()) is not None:
                yield from split(bytes(piece))
        finally:
            rows.close()


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


@contextmanager
def reading(topic: str) -> Iterator[None]:
    """ExternalError where the store of a topic cannot be read, EvaluationError where a query has no
    value for a row."""
    try:
        yield
    except SPARK_FAILURES as error:
        if (of_row := without_value(error)) is not None:
            raise of_row from error
        java = getattr(error, "java_exception", None)
        raise ExternalError(
            f"the table of the topic {topic} cannot be read at present",
            retryable=True,
            detail=str(error if java is None else java.getMessage() or java.toString()),
        ) from error
