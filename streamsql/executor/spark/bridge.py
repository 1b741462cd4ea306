"""The one way to Java, other than to build frames: io.streamsql.bridge.Bridge is its other end.

docs/design/bridge.md has the contract. Calls raise one of `failures.JVM_FAILURES`; what they return
as Any is an object of Java with methods of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from py4j.java_gateway import GatewayParameters, JavaGateway, JavaObject
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.executor.spark.messages import VERSION, CodedError, Status
from streamsql.status import QueryMetrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from streamsql.kafka.positions import Positions
    from streamsql.kafka.records import NewRecord

Settings = Mapping[str, str]
"""Of Kafka's client for Java."""

DEADLINE_SECONDS = 20.0
"""For calls that have nothing to wait for: a JVM that takes longer does not answer."""

_CLASSES = ("functions", "org.apache.spark.sql.functions", "PythonUtils")
_QUALIFIED = (
    "io.streamsql.expressions.Expressions",
    "io.streamsql.expressions.ErrorGuard",
    "io.streamsql.serving.CompiledPlan",
)
"""The most frequent calls during lowering."""


class Bridge:
    """The bridge of one JVM; thread-safe. It ends with its session."""

    def __init__(self, spark: SparkSession) -> None:
        """Opens it, once for a session: `of` finds it."""
        session = cast(Any, spark)
        _remember_classes(session._jvm)
        self._spark = spark
        self._java = session._jvm.io.streamsql.bridge.Bridge.open(session._jsparkSession, VERSION)
        self._prompt = with_deadline(self._java, DEADLINE_SECONDS)
        self._lock = threading.Lock()
        self._ansi: dict[bool, SparkSession] = {}
        self._one_row: dict[SparkSession, DataFrame] = {}
        session.streamsql_bridge = self

    @staticmethod
    def of(spark: SparkSession) -> Bridge:
        return cast(Bridge, cast(Any, spark).streamsql_bridge)

    def close(self) -> None:
        """Closes its own connections, before the JVM ends."""
        self._prompt._gateway_client.close()

    # -- queries ---------------------------------------------------------------------------------

    def status(self) -> Status:
        return Status.of(str(self._prompt.status()))

    def counters(self) -> dict[str, QueryMetrics]:
        """By the id of a persistent query, or the topic of a push query."""
        found = json.loads(str(self._prompt.counters()))
        return {query_id: QueryMetrics.of(numbers) for query_id, numbers in found.items()}

    def forget(self, query_id: str) -> None:
        """Forgets the counters of a query: it has ended for good, or begins without state."""
        self._prompt.forget(query_id)

    def coded_error(self, throwable: Any) -> CodedError | None:
        """The engine's own error that caused a Java exception; None: none did."""
        return _coded(self._prompt.codedError(throwable))

    def ended_by(self, query: Any) -> CodedError | None:
        """The engine's own error that a query of Java's ended with; None: another one, or none."""
        return _coded(self._prompt.endedBy(query))

    def finish(self, query: StreamingQuery, milliseconds: int) -> bool:
        """Makes a query commit its records and stop reading; returns whether it did."""
        return bool(self._java.finish(cast(Any, query)._jsq, milliseconds))

    def stopped(self, query_id: str) -> None:
        """A run has ended: what it had read in its last batch counts no more, nor in which steps it
        was to read."""
        self._prompt.stopped(query_id)

    def read_until(self, query_id: str, until: Positions | None) -> None:
        """Limits the micro-batches of a query, also of a running one, to these offsets; None:
        unlimited."""
        self._prompt.readUntil(query_id, None if until is None else json.dumps(until))

    def read_in_steps(
        self,
        query_id: str,
        settings: Settings,
        clocks: Mapping[str, Any],
        begin: Positions,
        end: Positions,
        most: int,
    ) -> None:
        """Makes the next run of a query end its batches, of at most this many records, at event
        times: see io.streamsql.source.TimeSteps."""
        places = json.dumps(begin), json.dumps(end)
        self._java.readInSteps(query_id, settings, clocks, *places, most)

    def rehearse(self, query: StreamingQuery) -> None:
        """Compiles in the background the code that runs between the query's batches."""
        self._prompt.rehearse(cast(Any, query)._jsq)

    def warm_up(self) -> Any:
        return self._java.warmUp()

    # -- writing to Kafka ------------------------------------------------------------------------

    def extend_lease(self, service_id: str, seconds: Callable[[], float]) -> None:
        """Lets the queries of a service write for so long: see io.streamsql.kafka.WriteLease."""
        # A process that is suspended after this extends the lease by less.
        now = self._prompt.nanoTime()
        self._prompt.extendLease(service_id, now + int(seconds() * 1e9))

    def abort_transactions(
        self, settings: Settings, checkpoints: Iterable[str], seconds: float
    ) -> int:
        """Aborts what the runs on these checkpoints have left open; how many transactions."""
        names = list(checkpoints)
        return int(self._java.abortTransactions(settings, names, int(seconds * 1000)))

    def producer(self, settings: Settings) -> Any:
        """A producer of Kafka's client for Java."""
        return self._java.producer(settings)

    def record(self, topic: str, record: NewRecord) -> Any:
        """A record for such a producer."""
        headers = [[name, value] for name, value in record.headers]
        return self._java.record(
            topic, record.partition, record.timestamp, record.key, record.value, headers
        )

    def write_records(self, settings: Settings, packed: bytes) -> None:
        """Writes records as io.streamsql.kafka.TopicRecords has them packed."""
        self._java.writeRecords(settings, packed)

    def read_records(self, settings: Settings, topic: str) -> bytes:
        return bytes(self._java.readRecords(settings, topic))

    # -- rebuilds --------------------------------------------------------------------------------

    def newest_records(
        self, settings: Settings, topic: str, offsets: Mapping[int, tuple[int, int]]
    ) -> DataFrame:
        """Of these offsets of a topic, the first and the one behind the last of each partition, the
        last record of each key: key, value, time in ms and headers. They are read now, without a
        job of Spark: see io.streamsql.delivery.NewestRecords."""
        begins = {partition: begin for partition, (begin, _) in offsets.items()}
        ends = {partition: end for partition, (_, end) in offsets.items()}
        found = self._java.newestRecords(settings, topic, begins, ends)
        return ClassicDataFrame(found, self._spark)

    def held_table(
        self,
        rows: DataFrame,
        settings: Sequence[Settings],
        topics: Sequence[str],
        ends: Sequence[Mapping[int, int]],
    ) -> Any:
        return self._java.heldTable(cast(Any, rows)._jdf, settings, topics, ends)

    def write_corrections(
        self, rows: DataFrame, settings: Settings, topic: str, writer: str | None
    ) -> None:
        """Writes a batch of key, value, timestamp in ms and headers; returns when Kafka has them.
        With a `writer` in transactions: see io.streamsql.delivery.Corrections."""
        self._java.writeCorrections(cast(Any, rows)._jdf, settings, topic, writer)

    def group_layout(self, query: StreamingQuery) -> Any:
        return self._java.groupLayout(cast(Any, query)._jsq)

    def group_stores(
        self, checkpoint: str, metadata: str, version: int, ids: Sequence[str], layout: Any
    ) -> Any:
        return self._java.groupStores(checkpoint, metadata, version, ids, layout)

    def rewrite_groups(self, old: Any, new: Any) -> list[str]:
        return [str(found) for found in self._java.rewriteGroups(old, new)]

    # -- served tables ---------------------------------------------------------------------------

    def open_table(
        self,
        folder: str,
        topic: str,
        settings: Settings,
        retention_ms: int | None,
        epochs: str | None,
        history_ms: int,
    ) -> Any:
        """Opens or creates the store of a topic: see io.streamsql.serving.ServedTable."""
        retention = -1 if retention_ms is None else retention_ms
        return self._java.openTable(folder, topic, settings, retention, epochs, history_ms)

    def scan_threads(self) -> list[int]:
        """The system's ids of the threads that scan tables."""
        return [int(thread) for thread in self._java.scanThreads()]

    def listen(self, path: str) -> Any:
        """Lets the JVM answer prepared queries over a Unix domain socket."""
        return self._java.listen(path)

    def register(self, query: Any) -> int:
        """The number of a Java PreparedQuery in requests over the socket."""
        return int(self._prompt.register(query))

    def release(self, number: int) -> None:
        self._prompt.release(number)

    def epoch_ends(self, log: str, settings: Settings, topics: Sequence[str]) -> str | None:
        """Where topics of views end the newest epoch that all of them have, as JSON of Spark's
        offsets; None: there is none."""
        found = self._java.epochEnds(log, settings, list(topics))
        return None if found is None else str(found)

    def common_epoch(self) -> Any:
        """The choice of the epoch as of which a query reads its views."""
        return self._java.commonEpoch()

    def tables_query(self, plan: Any, most_rows: int) -> Any:
        """A query over tables, which `listen` answers while their product has `most_rows`."""
        return self._java.tablesQuery(plan, most_rows)

    def database_rows(
        self,
        url: str,
        user: str,
        password: str,
        jars: Sequence[str],
        sql: str,
        parameters: Sequence[str],
    ) -> list[list[str | None]]:
        """The rows of a statement that a database runs: see io.streamsql.databases.Rows."""
        rows = self._java.databaseRows(url, user, password, list(jars), sql, list(parameters))
        return [[None if cell is None else str(cell) for cell in row] for row in rows]

    @contextmanager
    def ansi(self, *, of_stores: bool) -> Iterator[SparkSession]:
        """A session in Spark's ANSI mode: an expression without a value, such as 1/0, is an error.
        In the block it is the active one of this thread, which Spark asks for the mode. A query
        over stores (`of_stores`) is interpreted."""
        with self._lock:
            session = self._ansi.get(of_stores)
            if session is None:
                own = self._java.ansiSession(of_stores)
                session = self._ansi[of_stores] = SparkSession(self._spark.sparkContext, own)
                cast(Any, session).streamsql_bridge = self
        before = self._java.activate(cast(Any, session)._jsparkSession)
        try:
            yield session
        finally:
            self._java.activate(before)

    def one_row(self, session: SparkSession) -> DataFrame:
        """The row without columns that a SELECT without FROM reads, made once for a session."""
        with self._lock:
            found = self._one_row.get(session)
            if found is None:
                java = self._java.oneRow(cast(Any, session)._jsparkSession)
                found = self._one_row[session] = ClassicDataFrame(java, session)
        return found

    def moved(self, rows: DataFrame, session: SparkSession) -> DataFrame:
        """The rows of another session of this JVM, as rows of `session`."""
        of_java = self._java.moved(cast(Any, rows)._jdf, cast(Any, session)._jsparkSession)
        return ClassicDataFrame(of_java, session)

    def limit_rows(self, size: int) -> None:
        """Limits the memory, in bytes, of rows that table queries keep."""
        self._prompt.limitRows(size)

    # -- object stores ---------------------------------------------------------------------------

    def store_files(self) -> Any:
        return self._java.storeFiles()


def with_deadline(java: Any, seconds: float) -> Any:
    """A Java object whose calls raise one of JVM_FAILURES where they take longer: over connections
    of its own, since those of PySpark have no deadline."""
    known = cast(Any, SparkContext)._gateway.gateway_parameters
    parameters = GatewayParameters(
        port=known.port,
        auth_token=known.auth_token,
        auto_convert=True,
        enable_memory_management=False,
        read_timeout=seconds,
    )
    gateway = cast(Any, JavaGateway(gateway_parameters=parameters))
    return JavaObject(java._get_object_id(), gateway._gateway_client)


def _coded(text: Any) -> CodedError | None:
    return None if text is None else CodedError.of(str(text))


def coded_error(error: BaseException) -> CodedError | None:
    """The engine's own error in the JVM that an exception reports; None: it is another one's, or
    the JVM has ended."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    bridge = _current()
    if java is not None and bridge is not None:
        with suppress(*JVM_FAILURES):
            return bridge.coded_error(java)
    return None


def ended_by(query: StreamingQuery) -> CodedError | None:
    """The same of the exception that a query ended with, which PySpark does not hand on."""
    java, bridge = getattr(query, "_jsq", None), _current()
    return None if java is None or bridge is None else bridge.ended_by(java)


def _current() -> Bridge | None:
    """That of the process, which has one session of PySpark; None: it has none now."""
    session = cast(Any, SparkSession)._instantiatedSession
    return None if session is None else Bridge.of(session)


def _remember_classes(jvm: Any) -> None:
    """PySpark asks for its Java classes by name at every use, and the JVM then looks through all
    jars for what the name may mean: here once, which makes lowering a fifth faster."""
    for name in _CLASSES:
        setattr(jvm, name, getattr(jvm, name))
    for path in _QUALIFIED:
        view = jvm
        for step in path.split("."):
            setattr(view, step, getattr(view, step))
            view = getattr(view, step)
