"""The one Spark application of an engine: its settings, its start and its end.

What a query is and how it is started is left to lowering and start.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from streamsql.errors import ConfigError, ExternalError, StreamSQLError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.class_path import class_path_of, java_and_jars
from streamsql.executor.spark.cluster import (
    DEFAULT_MASTER,
    cluster_environment,
    cluster_settings,
    is_local,
    live_slots,
    merged,
)
from streamsql.executor.spark.gateway import (
    JvmCommand,
    forget_gateway,
    jvm_environment,
    start_jvm,
)
from streamsql.executor.spark.jvm_ends import JvmEnds
from streamsql.executor.spark.log import configured_log
from streamsql.jvm.archives import archive_options
from streamsql.jvm.jars import Progress, ensure_jars
from streamsql.jvm.java import OPTIMIZED_LATE
from streamsql.jvm.lock import Group
from streamsql.waiting import await_condition

DEFAULT_HEAP = "2g"
EXECUTOR_SECONDS = 30.0
"""How long a start waits for the first executor of a cluster."""
STOP_SECONDS = 10.0
"""How long the JVM may take to end before it is killed."""

STATE_MEMORY = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB"
"""Of all state stores of a JVM, in MB."""

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS: dict[str, str] = {
    "spark.app.name": "streamsql",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # MAP(..) with a key twice keeps the last one; by default it would end the query.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # So does a JSON text; by default it would be none.
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.shuffle.partitions": "2",
    # The master's threads are for continuous queries; batch work gets fewer.
    "spark.default.parallelism": "64",
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # One cache and one limit (MB) for all state stores: each one's own would add up.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    STATE_MEMORY: "500",
    # Between two runs of the maintenance the changes of each batch are files, up to four batches a
    # second of a view. A restart reads those since the last run, and three intervals of them stay
    # on the disk.
    "spark.sql.streaming.stateStore.maintenanceInterval": "20s",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    # Watermarks and counts must not depend on how often an idle query is looked at.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # Spark refuses several stateful operators in one query of update mode, since its own would take
    # updates for new rows. Ours know which is which; what must not be, the planner refuses.
    "spark.sql.streaming.unsupportedOperationCheck": "false",
    # Each operator that needs a watermark defines it over its own input; the query's is the least.
    "spark.sql.streaming.statefulOperator.allowMultiple": "false",
    # A worker waits so long for a query to stop; one that takes longer is looked at again.
    "spark.sql.streaming.stopTimeout": "10000",
    # Classes of one query, times the queries of an engine: an evicted class is compiled again while
    # records wait.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # The plan printed for Spark's UI before every batch is unused: use the shortest.
    "spark.sql.ui.explainMode": "simple",
    # Spark keeps what a task has fetched, up to a MiB of records for each partition, and its
    # consumer for five minutes; the jobs of a pull query never come back for it.
    "spark.kafka.consumer.fetchedData.cache.timeout": "5s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    "spark.kafka.consumer.cache.timeout": "10s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
    # How often an idle micro-batch query asks Kafka for news; the default is 100 times a second.
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "false",
    # Hadoop's own start some 60 processes for one commit of one query, and sync nothing.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.streamsql.files.LocalFiles",
    "spark.hadoop.fs.file.impl": "io.streamsql.files.CheckedLocalFiles",
    # Our state operators, known to Spark's check of real-time mode, and functions of standard SQL.
    "spark.sql.extensions": "io.streamsql.state.StateOperators,"
    "io.streamsql.expressions.StandardFunctions",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # A failed task would fail again: the query restarts from its checkpoint.
    "spark.task.maxFailures": "1",
    # A task that runs out of memory ends its query, not all: see io.streamsql's FatalErrors.
    "spark.executor.killOnFatalError.depth": "0",
    "spark.log.structuredLogging.enabled": "false",
    # Else PySpark walks the Python stack for every column that the lowering builds.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

_JVM_OPTIONS = (
    "-Duser.timezone=UTC",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-XX:-UsePerfData",
)

LONG_RUNNING = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=50",
    # Planning calls very many methods some ten thousand times: to optimize them costs more than it
    # saves. What each record passes is called as often within a second.
    *OPTIMIZED_LATE,
)
"""JVM options for long-running queries."""


class SparkRuntime:
    """Starts and stops the Spark session; safe to use from any thread."""

    def __init__(
        self,
        data_dir: Path,
        *,
        master: str = DEFAULT_MASTER,
        heap: str = DEFAULT_HEAP,
        settings: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        archive_to: Path | None = None,
        further_jars: Sequence[Group] = (),
        tuning: Sequence[str] = LONG_RUNNING,
    ) -> None:
        """`further_jars` are jar groups in addition to the required ones; `tuning` are further
        options of the JVM. `archive_to` is for class_archive.py: where the JVM writes its classes
        on exit."""
        self._data_dir = data_dir.absolute()
        self._master = master
        self._heap = heap
        self._settings = dict(settings or {})
        self._progress = progress
        self._archive_to = archive_to
        self._tuning = tuple(tuning)
        self._further_jars = tuple(further_jars)
        self._lock = threading.RLock()
        self._session: SparkSession | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._aborted = False
        self._closed = False
        self._scratch: Path | None = None
        self._ends = JvmEnds()
        self.was_killed = self._ends.was_killed

    @property
    def session(self) -> SparkSession:
        """The session, restarted if its JVM has exited."""
        return self.start()

    @property
    def is_running(self) -> bool:
        process = self._process
        return self._session is not None and process is not None and process.poll() is None

    @property
    def current(self) -> SparkSession | None:
        """The session that runs now; starts none."""
        session = self._session
        return session if self.is_running else None

    @property
    def latest(self) -> SparkSession | None:
        """The session that was started last, whether its JVM still lives or not."""
        return self._session

    @property
    def log_file(self) -> Path:
        return self._data_dir / "logs" / "spark.log"

    def start(self) -> SparkSession:
        """The session; blocks until it is there. ExternalError where Java or Spark fails,
        ConfigError where another engine of this process has its Spark."""
        with self._lock:
            if (session := self.current) is not None:
                return session
            if self._closed:
                # A thread that arrives late could start something that is never stopped.
                raise ExternalError("Spark has been stopped")
            self.stop()
            _claim(self)
            forget_gateway()
            try:
                self._session = self._start()
            except StreamSQLError:
                self.stop()
                raise
            except Exception as error:
                self.stop()
                raise ExternalError(
                    "Spark did not start", detail=f"{error}\nSee {self.log_file}."
                ) from error
            return self._session

    def abort(self) -> None:
        """Give up a start that is under way in another thread: it fails at once, for good."""
        self._aborted = True
        process = self._process
        if process is not None:
            process.kill()

    def _launched(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._ends.begun(process)
        if self._aborted:
            process.kill()

    def close(self) -> None:
        """Stops permanently: later calls of the session raise an ExternalError."""
        with self._lock:
            self._closed = True
            self.stop()

    def stop(self) -> None:
        """Stop all queries, the session and the JVM; does nothing if nothing runs."""
        with self._lock:
            session, self._session = self._session, None
            process, self._process = self._process, None
            if session is not None:
                Bridge.of(session).close()
            if session is not None and process is not None and process.poll() is None:
                _stop_session(session)
            if process is not None:
                # Only its own: the process's single Spark may belong to another runtime by now.
                forget_gateway()
                _end_process(process, STOP_SECONDS if self._archive_to is None else 120)
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch = None
            _release(self)

    def _start(self) -> SparkSession:
        java, jars = java_and_jars(self._progress)
        class_path = class_path_of(jars)
        further = [
            jar for group in self._further_jars for jar in ensure_jars(group, self._progress)
        ]
        self._scratch = Path(tempfile.mkdtemp(prefix="streamsql-spark-"))
        archive = archive_options("spark", java, class_path, self._archive_to)
        options = [*self._jvm_options(), *archive]
        # Behind all others: what the archive knows has to be the begin of the class path.
        command = JvmCommand(java, options, [*class_path, *map(str, further)])
        output = self.log_file.with_name("spark-jvm.log")
        environment = {
            **jvm_environment(self._scratch),
            **cluster_environment(self._master, self._scratch),
        }
        gateway = start_jvm(command, output, environment, self._launched)
        SparkContext._ensure_initialized(gateway=gateway)
        _silence()
        conf = SparkConf().setMaster(self._master)
        for name, value in self._all_settings([*jars, *further], self._scratch).items():
            conf.set(name, value)
        session = SparkSession.builder.config(conf=conf).getOrCreate()
        Bridge(session)
        # Workers run the Python that runs us, not the one that PATH finds first.
        session.sparkContext.pythonExec = sys.executable
        if not is_local(self._master):
            # Otherwise the first queries find no task slots. Each query reports a lack of slots
            # itself.
            await_condition(lambda: live_slots(session) > 0, EXECUTOR_SECONDS)
        return session

    def _all_settings(self, jars: Sequence[Path], scratch: Path) -> dict[str, str]:
        own = {
            **cluster_settings(self._master, jars, scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        }
        return merged({**SETTINGS, **own}, self._settings)

    def _jvm_options(self) -> list[str]:
        configuration = configured_log(self.log_file)
        return [
            f"-Xmx{self._heap}",
            *_JVM_OPTIONS,
            *self._tuning,
            f"-Dlog4j2.configurationFile={configuration}",
            f"-Djava.io.tmpdir={self._scratch}",
        ]


def _silence() -> None:
    """PySpark writes the errors it raises to the terminal too, in JSON."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        logger.handlers.clear()
        logger.propagate = False
        logger.disabled = True


def _stop_session(session: SparkSession) -> None:
    """A JVM that no longer answers is ended by its process; there is nothing to report."""
    try:
        for query in session.streams.active:
            query.stop()
        session.stop()
    except Exception:
        return


_owner: SparkRuntime | None = None
_owner_lock = threading.Lock()


def _claim(runtime: SparkRuntime) -> None:
    """PySpark has one gateway per process: a second runtime would end the first one's Spark."""
    global _owner
    with _owner_lock:
        if _owner is not None and _owner is not runtime:
            raise ConfigError(
                "another engine of this process is using Spark",
                hint="Close that one first, or use a process of its own.",
            )
        _owner = runtime


def _release(runtime: SparkRuntime) -> None:
    global _owner
    with _owner_lock:
        if _owner is runtime:
            _owner = None


def _end_process(process: subprocess.Popen[bytes], seconds: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
