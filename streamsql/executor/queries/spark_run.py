"""One run of a query in Spark, from its start to its end, and what its end means."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.spark.messages import CodedError, ErrorCode
from streamsql.kafka.positions import Positions, merge
from streamsql.storage.location import Location
from streamsql.storage.store import StorePath

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from streamsql.executor.spark.bridge import Bridge


_log = logging.getLogger("streamsql.queries")
_log.addHandler(logging.NullHandler())
FINISH_MILLISECONDS = 5_000
FINISH_IN_STORE_MILLISECONDS = 20_000
"""The end of a batch writes files for each part of its state, each of them in a request or two."""
END_SECONDS = 0.2
"""How long one look waits for the thread of a query that Spark calls ended."""


@dataclass(frozen=True)
class Failure:
    """Why a query stopped; `retryable` if waiting for Kafka or Spark may help."""

    text: str
    retryable: bool
    exhausting: bool = False
    """Whether what it was to hold was more than there is memory for."""
    died: bool = False
    """Whether the JVM is gone, with all queries."""


class Run(Protocol):
    """A started query; all may be called from any thread."""

    def active(self) -> bool:
        """Whether it runs, or may: False only once it has certainly ended."""

    def failure(self) -> Failure | None:
        """The error it ended with; None while it runs, and after a stop."""

    def positions(self) -> Positions | None:
        """By topic and partition the offset after the last record done; None before the first
        batch."""

    def finish(self) -> bool:
        """Have it commit what it has read so far, for it to be stopped; takes some seconds at most.
        Whether it certainly has."""

    def stop(self) -> bool:
        """End it; whether it has certainly ended. Where it has not, it may still read and write."""


class SparkRun:
    """A run that is a Spark streaming query."""

    def __init__(
        self,
        query: StreamingQuery,
        lives: Callable[[], bool],
        bridge: Bridge | None = None,
        checkpoint: Location | None = None,
    ) -> None:
        """`lives`: whether the process of the query's JVM still runs. With `bridge` the run can
        finish; `checkpoint` is where it commits."""
        self._query = query
        self._lives = lives
        self._bridge = bridge
        in_store = isinstance(checkpoint, StorePath)
        self._finish_ms = FINISH_IN_STORE_MILLISECONDS if in_store else FINISH_MILLISECONDS

    def active(self) -> bool:
        """Whether it still runs, or may; false also if the JVM's process has ended."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            # Spark calls a query inactive as soon as it is asked to stop. Its thread may still
            # write, and its name is not free yet.
            return self._query.isActive or not self._query.awaitTermination(cast(int, END_SECONDS))
        except (PySparkException, Py4JJavaError):
            return False  # That is what the query has ended by: see failure().
        except Exception:
            return self._lives()  # A JVM that does not answer may still run the query.

    def failure(self) -> Failure | None:
        """Why it stopped, None if it came to its end or was stopped."""
        try:
            return failure_of(self._query)
        except Exception as lost:
            text = f"Spark does not answer: {_first_line(str(lost))}"
            return Failure(text, True, died=not self._lives())

    def positions(self) -> Positions | None:
        """How far the last finished batch has come, None before the first."""
        try:
            progress = self._query.lastProgress
        except Exception:
            return None
        if progress is None:
            return None
        positions: Positions = {}
        for source in progress.sources:
            try:
                content: Any = json.loads(source.endOffset)
            except (TypeError, ValueError):
                return None
            if isinstance(content, dict):
                merge(positions, content)
        return positions

    def finish(self) -> bool:
        """End a real-time batch early, or await the end of a micro-batch: otherwise the next run
        reads its records again."""
        if self._bridge is not None:
            with suppress(Exception):
                return self._bridge.finish(self._query, self._finish_ms)
        return False

    def stop(self) -> bool:
        """End it; what its current batch has not committed will be processed again."""
        try:
            self._query.stop()
        except Exception as error:
            # A timeout, for one: see spark.sql.streaming.stopTimeout.
            if self._lives():
                _log.warning("Spark has not stopped a query: %s", _first_line(str(error)))
        return not self.active()


_RETRYABLE = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|NotLeader|LeaderNotAvailable"
    r"|BrokerNotAvailable|Coordinator\w+|RetriableException|UnknownTopicOrPartition"
    r"|NotEnoughReplicas|UnknownServer|KafkaStorage|FencedLeaderEpoch|UnknownLeaderEpoch)"
    r"|java\.net\.(ConnectException|SocketTimeoutException)"
    r"|java\.util\.concurrent\.TimeoutException"
)
_SITUATIONS = (
    (re.compile(r"No space left on device|Disk quota exceeded"), "no space left on a disk"),
    (re.compile(r"Read-only file system"), "a disk is read-only"),
    (re.compile(r"Too many open files"), "too many files are open"),
    (
        re.compile(r"KafkaStorageException|Broker: Disk error"),
        "a disk of a Kafka broker is full or has failed",
    ),
    (
        re.compile(
            r"(Topic|Group|Cluster|TransactionalId)AuthorizationException"
            r"|Broker: [\w ]+ authorization failed|(Sasl|Ssl)AuthenticationException"
        ),
        "Kafka refuses the access",
    ),
    (re.compile(r"ThrottlingQuotaExceededException"), "Kafka refuses more than the quota"),
)
"""External conditions, by the exceptions of Spark, Kafka and the system; queries recover once an
operator has resolved them."""
_OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError(?:: (?P<what>[^\n]+))?(?P<trace>(?:\s+at [^\n]+)*)"
    r"|SparkOutOfMemoryError: (?P<spark>[^\n]+)"
)
_FRAME = re.compile(r"at (?:app//)?io\.streamsql\.(?:\w+\.)*(\w+)[.$]")
_TOO_LARGE = "too large for the engine's memory"
_LOOKUP = "what is looked up is out of reach"
_SINK = "the destination of the sink is out of reach"
_OF_A_TASK = re.compile(r"^.*Job aborted due to stage failure: .* \(TID \d+\) \([^()]*\): ")
"""What Spark puts before the error of a task that has no cause."""
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)+[\w$]+(?:Exception|Error)?: (.+)$")


def failure_of(query: StreamingQuery) -> Failure | None:
    """Why a query has ended; None while it runs, and after a stop."""
    from streamsql.executor.spark.bridge import ended_by

    error = query.exception()
    if error is None:
        return None
    coded = ended_by(query)
    return classify(error) if coded is None else meaning(coded)


def classify(error: BaseException) -> Failure:
    """What an exception of Spark, or of starting a query, means to the user, in one line."""
    if isinstance(error, ExternalError):
        detail = f": {_root_message(error.detail)}" if error.detail else ""
        retryable = error.retryable or bool(_RETRYABLE.search(error.detail or ""))
        return _in_situation(f"{error.message}\n{error.detail}", error.message + detail, retryable)
    if isinstance(error, StreamSQLError):
        return Failure(f"{error.message}. {error.hint}" if error.hint else error.message, False)
    from streamsql.executor.spark.bridge import coded_error

    if (coded := coded_error(error)) is not None:
        return meaning(coded)
    text = f"{error}\n{_trace(error)}"
    # What Spark has an error condition for, it throws with the cause beside it, not in its text.
    whole = f"{text}\n{_trace(getattr(error, '_cause', None))}"
    if (lack := _lack_of_memory(whole)) is not None:
        return Failure(f"{_TOO_LARGE}: {lack}", False, exhausting=True)
    return _in_situation(whole, _root_message(text), bool(_RETRYABLE.search(whole)))


def meaning(error: CodedError) -> Failure:
    """What an error of the engine itself means; its text plays no part."""
    match error.code:
        case ErrorCode.MEMORY_LIMIT:
            return Failure(f"{_TOO_LARGE}: {error.message}", False, exhausting=True)
        case ErrorCode.LOOKUP_UNAVAILABLE:
            return Failure(f"{_LOOKUP}: {error.message}", True)
        case ErrorCode.SINK_UNAVAILABLE:
            return Failure(f"{_SINK}: {error.message}", True)
        case _:
            return Failure(error.message, False)


def _lack_of_memory(text: str) -> str | None:
    found = _OUT_OF_MEMORY.search(text)
    if found is None:
        return None
    frame = _FRAME.search(found["trace"] or "")
    where = f" in {frame.group(1)}" if frame is not None else ""
    return f"a task ran out of it{where} ({found['spark'] or found['what'] or 'no more is said'})"


def _trace(error: BaseException | None) -> str:
    """The JVM's stack trace of an error of PySpark, causes included."""
    return str(getattr(error, "_stackTrace", "") or "")


def situation(text: str) -> str | None:
    """The external condition, of disks or of Kafka, that an error reports; None: none."""
    return next((words for found, words in _SITUATIONS if found.search(text)), None)


def _in_situation(text: str, message: str, retryable: bool) -> Failure:
    words = situation(text)
    return Failure(message, retryable) if words is None else Failure(f"{words}: {message}", True)


def _root_message(text: str) -> str:
    """The message of the innermost cause."""
    causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
    line = _OF_A_TASK.sub("", causes[-1] if causes else _first_line(text))
    match = _CAUSE.match(line)
    return match.group(1) if match else line.removeprefix("Caused by: ")


def _first_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip() if lines else "unknown error"
