"""Kafka and Spark as an engine has them: both come up in the background, side by side."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from streamsql.config import EngineConfig
from streamsql.connectors.client import ConnectClient, Plugin
from streamsql.connectors.embedded.config import CONNECTOR_KEY, config_topic
from streamsql.connectors.embedded.plugins import declared
from streamsql.connectors.embedded.worker import EmbeddedConnect
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError, UnsupportedError
from streamsql.executor.services.background import Report, Service, StartupStep
from streamsql.executor.services.store import Store
from streamsql.executor.spark.cluster import checked_settings, live_slots, master_of
from streamsql.executor.spark.jvm_ends import DYING_SECONDS
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.kafka.security import checked
from streamsql.properties import CONNECT_URL, SCHEMA_REGISTRY_URL, with_owned_secrets
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.server import EmbeddedRegistry
from streamsql.sizes import Sizes
from streamsql.storage.store import StorePath
from streamsql.waiting import await_condition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamsql.executor.spark.session import SparkRuntime
    from streamsql.jvm.jars import Progress
    from streamsql.kafka.broker import EmbeddedBroker
    from streamsql.kafka.client import KafkaClient

REACHABLE_SECONDS = 30.0
"""How long a broker that is not ours may take to answer at the start."""
CLOSE_SECONDS = 60.0


class Services:
    """The services of one engine. `kafka` and `spark` wait for what they need of `jars`."""

    def __init__(self, config: EngineConfig, data: DataDir, sizes: Sizes) -> None:
        self._config = config
        self._sizes = sizes
        self._data = data
        self._broker: EmbeddedBroker | None = None
        self._runtime: SparkRuntime | None = None
        self._registry: EmbeddedRegistry | None = None
        self._registry_lock = threading.Lock()
        self._connect = EmbeddedConnect(data, lambda: self.kafka.get().java_settings)
        self._closing = threading.Event()
        self.jars: Service[bool] = Service("jars", self._fetch_jars)
        self.kafka: Service[KafkaClient] = Service("kafka", self._start_kafka)
        self.spark: Service[SparkRuntime] = Service("spark", self._start_spark)
        self.store = Store(lambda: self.spark.get().start())
        """Has the checkpoints, where they are in one."""

    def start(self) -> None:
        """Begin to bring all of them up; returns at once."""
        for service in (self.jars, self.kafka, self.spark):
            service.start()

    def current_spark(self) -> SparkSession | None:
        """The session that runs now: waits for none and starts none."""
        runtime = self.spark.peek()
        return None if runtime is None else runtime.current

    def lives(self, session: SparkSession) -> bool:
        """Whether the process of this session's JVM still runs."""
        return self.current_spark() is session

    def latest_spark(self) -> SparkSession | None:
        """The session that was started last, in a JVM that may have died since: who holds a
        connection to it knows better, and need not ask the system."""
        runtime = self.spark.peek()
        return None if runtime is None else runtime.latest

    def spark_was_killed(self) -> bool:
        """Whether the JVM that ran last, or has just ended, was killed from outside: see
        jvm_ends.py."""
        runtime = self.spark.peek()
        return runtime is not None and runtime.was_killed()

    def spark_has_died(self) -> bool:
        """Whether the JVM is gone; a connection breaks a moment before the process has ended."""
        runtime = self.spark.get()
        return await_condition(lambda: not runtime.is_running, DYING_SECONDS)

    def live_slots(self) -> int:
        """Concurrent tasks of the current executors; 0 without Spark."""
        spark = self.current_spark()
        if spark is None:
            return 0
        from streamsql.executor.spark.failures import JVM_FAILURES

        with suppress(*JVM_FAILURES):
            return live_slots(spark)
        return 0

    @property
    def steps(self) -> tuple[StartupStep, ...]:
        return self.jars.step, self.kafka.step, self.spark.step

    @property
    def broker(self) -> EmbeddedBroker | None:
        return self._broker

    def registry(self, properties: Mapping[str, str]) -> RegistryClient:
        """The schema registry of these session properties, otherwise the embedded one, which starts
        on first use. ConfigError with an external broker."""
        # The statement log does not repeat the secrets that an engine is started with.
        named = RegistryClient.of(with_owned_secrets(properties, self._config.properties))
        if named is not None:
            return named
        client = self.kafka.get()
        if self._broker is None:
            raise ConfigError(
                "no schema registry is configured",
                hint=f"SET '{SCHEMA_REGISTRY_URL}' = 'http://host:8081';",
            )
        with self._registry_lock:
            self._open()
            if self._registry is None:
                registry = EmbeddedRegistry(client)
                registry.start()
                self._registry = registry
            return RegistryClient.at(self._registry.url)

    def connect(self, properties: Mapping[str, str]) -> ConnectClient:
        """The Connect cluster of these session properties, otherwise the embedded worker, which
        starts on first use. UnsupportedError for the latter with several servers."""
        named = ConnectClient.of(properties)
        if named is not None:
            return named
        self._check_embeds()
        self._open()
        return self._connect.client()

    def running_connect(self, properties: Mapping[str, str]) -> ConnectClient | None:
        """As `connect`, but starts nothing: None while the embedded worker does not run."""
        named = ConnectClient.of(properties)
        if named is None:
            self._check_embeds()
        return named or self._connect.running()

    @property
    def embedded_connect(self) -> EmbeddedConnect:
        return self._connect

    def _check_embeds(self) -> None:
        if self._config.service_id is not None:
            raise UnsupportedError(
                "servers of a service have no embedded Kafka Connect worker",
                hint=f"SET '{CONNECT_URL}' = 'http://host:8083';",
            )

    def recorded_connectors(self, seconds: float | None = None) -> dict[str, dict[str, str]]:
        """The properties of each connector of the embedded worker, which need not run.
        ExternalError after some seconds: an open transaction of the last worker delays the
        reading."""
        client, topic = self.kafka.get(), config_topic(self._data)
        found = dict[str, dict[str, str]]()
        if self._config.service_id is not None or client.partitions(topic) is None:
            return found
        deadline = None if seconds is None else time.monotonic() + seconds

        def is_over() -> bool:
            late = deadline is not None and time.monotonic() > deadline
            return late or self._closing.is_set()

        end = client.end_offsets(topic)
        for record in client.consume(topic, until=end, stop=is_over):
            name = (record.key or b"").decode(errors="replace")
            if name.startswith(CONNECTOR_KEY):
                name = name.removeprefix(CONNECTOR_KEY)
                found.pop(name, None)
                if record.value is not None:
                    found[name] = json.loads(record.value)["properties"]
        if is_over():
            raise ExternalError("the connectors are not known yet", retryable=True)
        return found

    def installed_plugins(self, properties: Mapping[str, str]) -> tuple[list[Plugin], list[str]]:
        """As `plugins.declared`; none if these session properties name a Connect cluster."""
        if ConnectClient.of(properties) is not None:
            return [], []
        return declared(self._data)

    def capturing(self) -> ConnectClient:
        """The embedded worker with the plugin that captures tables of PostgreSQL."""
        if self._config.service_id is not None:
            raise UnsupportedError(
                "servers of a service capture no tables of databases",
                hint="Create a connector of Debezium, and a table with "
                "VALUE_FORMAT='DEBEZIUM_JSON'.",
            )
        self._open()
        return self._connect.client("postgresql-source")

    def resume_connectors(self, resumed: Callable[[], None] = lambda: None) -> None:
        """Starts the embedded worker if it has connectors; returns before they run. Calls
        `resumed` if it has."""
        if self._config.service_id is None and self.kafka.get().partitions(
            config_topic(self._data)
        ):
            resuming = threading.Thread(target=self._resume, args=(resumed,), name="connect resume")
            resuming.daemon = True
            resuming.start()

    def _resume(self, resumed: Callable[[], None]) -> None:
        with suppress(ExternalError):
            if self.recorded_connectors():
                self._connect.resume()
                resumed()

    def _fetch_jars(self, report: Report) -> bool:
        progress = _progress(report, "fetching Spark's Kafka connector")
        ensure_jars("spark", progress)
        if isinstance(self._data.checkpoints, StorePath):
            ensure_jars("s3", _progress(report, "fetching the client of object stores"))
        if self._config.bootstrap_servers is None:
            ensure_jars("kafka", _progress(report, "fetching Kafka"))
        report("building the JVM part", None)
        ensure_runtime_jar(progress)
        report("", None)
        return True

    def _start_kafka(self, report: Report) -> KafkaClient:
        from streamsql.kafka.broker import EmbeddedBroker
        from streamsql.kafka.client import KafkaClient

        servers = self._config.bootstrap_servers
        if servers is not None:
            report(f"connecting to {servers}", None)
            client = KafkaClient(servers, security=checked(self._config.kafka))
            if not client.reachable(REACHABLE_SECONDS):
                raise ExternalError(
                    f"no answer from Kafka at {servers}", retryable=True, detail=client.trouble
                )
            report(servers, None)
            return client
        report("waiting for the jars", None)
        self.jars.get()
        self._open()
        report("starting the embedded broker", None)
        self._broker = EmbeddedBroker(self._data)
        # Closed before there was something to abort?
        self._open()
        servers = self._broker.start()
        report(f"embedded, {servers}", None)
        return KafkaClient(servers)

    def _start_spark(self, report: Report) -> SparkRuntime:
        report("waiting for the jars", None)
        self.jars.get()
        self._open()
        report("starting Spark", None)
        from streamsql.executor.spark import store_files
        from streamsql.executor.spark.session import (
            LONG_RUNNING,
            SETTINGS,
            STATE_MEMORY,
            SparkRuntime,
        )

        sizes = self._sizes
        in_store = isinstance(self._data.checkpoints, StorePath)
        own = {**SETTINGS, **(store_files.SETTINGS if in_store else {})}
        self._runtime = SparkRuntime(
            self._data.root,
            master=master_of(self._config.master, sizes.task_slots),
            heap=f"{sizes.heap_mb}m",
            settings={
                **store_files.DEFAULTS,
                **checked_settings(self._config.spark, own),
                **(store_files.SETTINGS if in_store else {}),
                STATE_MEMORY: str(sizes.state_memory_mb),
            },
            further_jars=("s3",) if in_store else (),
            tuning=(*LONG_RUNNING, f"-Dstreamsql.store.memory.mb={sizes.store_memory_mb}"),
        )
        # As above: importing Spark takes a second.
        self._open()
        session = self._runtime.start()
        if in_store:
            # The first request takes seconds, which a server that takes over should not need.
            with suppress(ExternalError):
                store_files.SparkStoreFiles(session).names(str(self._data.checkpoints))
        report("", None)
        return self._runtime

    def _open(self) -> None:
        """Nothing more is started once the engine is closing."""
        if self._closing.is_set():
            raise ExternalError("the engine was closed")

    @property
    def is_closing(self) -> bool:
        """Whether background work should stop."""
        return self._closing.is_set()

    def kill_spark(self) -> None:
        """End the JVM at once: every call that waits for it fails."""
        if self._runtime is not None:
            self._runtime.abort()

    def closing(self) -> None:
        """Start nothing more."""
        self._closing.set()

    def close(self) -> None:
        """Stop Spark, then the embedded broker, also those that are only just coming up."""
        self._closing.set()
        if self._runtime is not None and not self.spark.ready:
            self._runtime.abort()
        if self._broker is not None and not self.kafka.ready:
            self._broker.abort()
        self.spark.settle(CLOSE_SECONDS)
        if self._runtime is not None:
            self._runtime.close()
        with self._registry_lock:
            if self._registry is not None:
                self._registry.stop()
        client = self.kafka.settle(CLOSE_SECONDS)
        self._connect.close()
        try:
            if client is not None:
                client.close()
        finally:
            if self._broker is not None:
                self._broker.stop()


def _progress(report: Report, what: str) -> Progress:
    def show(done: int, total: int, name: str) -> None:
        report(f"{what} ({done} of {total})", done / total if total else None)

    return show
