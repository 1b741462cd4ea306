"""The embedded Kafka Connect worker: a real one, with Kafka's file connectors as its plugin."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from awaiting import await_until
from engine.offline import Offline

from streamsql.config import EngineConfig
from streamsql.connectors.embedded.plugins import install
from streamsql.connectors.embedded.worker import WorkerStatus, worker_status
from streamsql.data_folder import DataDir
from streamsql.errors import CatalogError, ConfigError, ExternalError, UnsupportedError
from streamsql.jvm.jars import ensure_jars
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

pytestmark = pytest.mark.kafka

PATIENCE = 60.0
SECRET = "canary-5f1b"


class Worker:
    """An engine without Spark, whose connectors read and write files below `folder`."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.bootstrap = folder, bootstrap
        self.data = DataDir.at(folder / "data")
        self.engine = self.started()

    def started(self) -> Offline:
        engine = Offline(self.data.root, self.bootstrap)
        engine.state.services.kafka.start()
        engine.state.services.resume_connectors()
        return engine

    def restart(self) -> None:
        self.close()
        self.engine = self.started()

    def close(self) -> None:
        self.engine.close()
        self.engine.state.services.close()

    @property
    def status(self) -> WorkerStatus:
        found = worker_status(self.data)
        assert found is not None
        return found

    def start(self) -> None:
        """By a statement that acts on connectors."""
        self.engine.run("DROP CONNECTOR IF EXISTS nothing;")

    def await_task(self, name: str, state: str) -> list[str]:
        """What DESCRIBE shows once the connector's task has the state."""
        found: list[str] = []

        def has_state() -> bool:
            found[:] = self.engine.texts(f"DESCRIBE CONNECTOR {name};")
            return f"0 | {state}" in found

        await_until(has_state, f"{name} is {state}: {found}", PATIENCE, every=0.2)
        return found


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker) -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_CONNECT_SECRET", SECRET)
        folder = tmp_path_factory.mktemp("connect")
        worker = Worker(folder, broker.bootstrap)
        (plugin,) = ensure_jars("connect-test")
        install(worker.data, str(plugin))
        try:
            yield worker
        finally:
            worker.close()


def values(kafka: KafkaClient, topic: str) -> list[bytes | None]:
    if kafka.partitions(topic) is None:
        return []
    return [r.value for r in kafka.consume(topic, until=kafka.end_offsets(topic))]


def test_nothing_is_started_without_a_connector(tmp_path: Path, broker: EmbeddedBroker) -> None:
    idle = Worker(tmp_path, broker.bootstrap)
    idle.engine.run("SHOW STREAMS;")
    assert idle.engine.texts("SHOW CONNECTORS; SHOW CONNECTOR PLUGINS;") == []
    with pytest.raises(CatalogError, match="Connector C does not exist"):
        idle.engine.run("DESCRIBE CONNECTOR c;")
    idle.close()
    assert worker_status(idle.data) is None
    assert not idle.data.connect.exists()


def test_the_first_statement_that_acts_starts_it(worker: Worker) -> None:
    source = "org.apache.kafka.connect.file.FileStreamSourceConnector | SOURCE | "
    assert source in worker.engine.texts("SHOW CONNECTOR PLUGINS;")
    assert worker_status(worker.data) is None
    worker.start()
    assert worker.engine.texts("SHOW CONNECTORS;") == []
    assert f"{source}4.3.1" in worker.engine.texts("SHOW CONNECTOR PLUGINS;")
    files = ("users.properties", "login.conf", "worker.properties")
    modes = {stat.S_IMODE((worker.data.connect / name).stat().st_mode) for name in files}
    assert modes == {0o600}


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_source_writes_each_line_once_across_restarts(
    worker: Worker, kafka: KafkaClient, topic_name: str, killed: bool
) -> None:
    lines = worker.folder / f"{topic_name}.txt"
    secrets = worker.folder / "secrets.properties"
    lines.write_text("one\ntwo\n")
    secrets.write_text(f"file={lines}\n")
    worker.engine.run(f"""CREATE SOURCE CONNECTOR lines WITH (
        'connector.class' = 'FileStreamSource', 'topic' = '{topic_name}',
        'file' = '${{file:{secrets}:file}}', 'login.password' = '${{env:TEST_CONNECT_SECRET}}',
        'value.converter' = 'org.apache.kafka.connect.storage.StringConverter');""")

    def await_lines(*expected: bytes) -> None:
        await_until(
            lambda: len(values(kafka, topic_name)) >= len(expected), "lines", PATIENCE, every=0.2
        )
        assert values(kafka, topic_name) == list(expected)

    def add(line: str) -> None:
        with lines.open("a") as file:
            file.write(line)

    await_lines(b"one", b"two")
    stopped = psutil.Process(worker.status.pid)
    if killed:
        stopped.kill()
        stopped.wait(PATIENCE)
    else:
        worker.restart()
    assert not stopped.is_running()
    add("three\n")
    await_lines(b"one", b"two", b"three")
    assert worker.status.pid != stopped.pid
    worker.await_task("LINES", "RUNNING")
    logs = "".join(path.read_text() for path in worker.data.logs.iterdir())
    assert SECRET not in logs
    assert "password" not in "".join(worker.engine.texts("DESCRIBE CONNECTOR lines;"))
    worker.engine.run("DROP CONNECTOR lines;")
    assert worker.engine.texts("SHOW CONNECTORS;") == []


def test_only_the_engine_may_use_its_rest_api(worker: Worker) -> None:
    worker.start()
    url = worker.status.url
    assert url.startswith("http://127.0.0.1:")
    for login in (None, ("streamsql", "guessed"), ("streamsql", "")):
        for path in ("/", "/connectors", "/connector-plugins", "/health", "/admin/loggers"):
            assert httpx2.get(url + path, auth=login).status_code == 401
        assert httpx2.post(f"{url}/connectors", json={}, auth=login).status_code == 401
        assert httpx2.delete(f"{url}/connectors/x", auth=login).status_code == 401
    # The worker's own requests are signed instead.
    for path in ("tasks", "fence"):
        method = "POST" if path == "tasks" else "PUT"
        refused = httpx2.request(method, f"{url}/connectors/x/{path}", json=[])
        assert refused.status_code == 400
        assert "signature" in refused.text
    (address,) = (
        c.laddr.ip
        for c in psutil.Process(worker.status.pid).net_connections()
        if c.status == psutil.CONN_LISTEN
    )
    assert address in ("127.0.0.1", "::ffff:127.0.0.1")


def test_what_a_worker_that_does_not_run_has(worker: Worker, topic_name: str) -> None:
    create = f"""CREATE SINK CONNECTOR kept WITH ('connector.class' = 'FileStreamSink',
        'topics' = '{topic_name}', 'file' = '{worker.folder / "kept.txt"}');"""
    worker.engine.run(create)
    worker.close()
    looking = Offline(worker.data.root, worker.bootstrap)
    looking.state.services.kafka.start()
    unknown = "UNKNOWN: the worker does not run"
    shown = [f"KEPT | UNKNOWN | FileStreamSink | {unknown}"]
    assert looking.texts("SHOW CONNECTORS;") == looking.texts("SHOW SINK CONNECTORS;") == shown
    facts = looking.texts("DESCRIBE CONNECTOR kept;")
    assert {"State   : UNKNOWN", "Error   : the worker does not run"} <= set(facts)
    assert worker_status(worker.data) is None
    looking.close()
    looking.state.services.close()
    worker.engine = worker.started()
    worker.engine.run("DROP CONNECTOR kept;")


def test_a_failed_task_is_shown_and_restarted(
    worker: Worker, kafka: KafkaClient, topic_name: str
) -> None:
    missing = worker.folder / "none" / "out.txt"
    kafka.create_topic(topic_name, 1)
    kafka.produce(topic_name, [NewRecord(None, b'"one"'), NewRecord(None, b'"two"')])
    worker.engine.run(f"""CREATE SINK CONNECTOR lost WITH ('connector.class' = 'FileStreamSink',
        'topics' = '{topic_name}', 'file' = '{missing}');""")
    found = worker.await_task("LOST", "FAILED")
    cause = f"java.nio.file.NoSuchFileException: {missing}"
    assert f"Task 0 failed: {cause}" in found

    def has(*parts: str) -> bool:
        found[:] = worker.engine.texts("DESCRIBE CONNECTOR lost;")
        return all(any(part in line for line in found) for part in parts)

    # The first restart fails too.
    await_until(lambda: has("2 in a row, next restart at"), f"{found}", PATIENCE, every=0.2)
    assert f"Cause   : {cause}" in found
    missing.parent.mkdir()
    worker.await_task("LOST", "RUNNING")
    await_until(lambda: has(" in a row, restarted at"), f"{found}", PATIENCE, every=0.2)
    # The offsets are committed each minute, and when the task stops.
    worker.restart()
    await_until(lambda: has("Lag     : 0 records"), f"{found}", PATIENCE, every=0.2)
    assert missing.read_text() == "one\ntwo\n"
    worker.engine.run("DROP CONNECTOR lost;")


def test_what_a_reference_refers_to_is_in_no_answer(worker: Worker) -> None:
    with pytest.raises(ConfigError) as raised:
        worker.engine.run("""CREATE SINK CONNECTOR c WITH ('connector.class' = 'FileStreamSink',
            'topics' = 't', 'tasks.max' = '${env:TEST_CONNECT_SECRET}');""")
    assert raised.value.detail == "tasks.max: Invalid value behind the reference."
    assert SECRET not in repr(raised.value.ksqldb)


@pytest.mark.slow
def test_a_plugin_from_maven_is_installed_and_run(
    tmp_path: Path, broker: EmbeddedBroker, kafka: KafkaClient, topic_name: str
) -> None:
    """Kafka's MirrorMaker, with all that it needs at run time."""
    data = tmp_path / "data"
    install_command = [str(Path(sys.executable).with_name("streamsql")), "connectors", "install"]
    plugin = "org.apache.kafka:connect-mirror:4.3.1"
    subprocess.run([*install_command, plugin, "--data", str(data)], check=True)
    kafka.create_topic(topic_name, 2)
    kafka.produce(topic_name, [NewRecord(b"%d" % n, b"v%d" % n) for n in range(100)])
    worker, converters = Worker(tmp_path, broker.bootstrap), "org.apache.kafka.connect.converters"
    try:
        worker.engine.run(f"""CREATE SOURCE CONNECTOR mirror WITH (
            'connector.class' = 'org.apache.kafka.connect.mirror.MirrorSourceConnector',
            'source.cluster.alias' = 'here', 'target.cluster.alias' = 'there',
            'source.cluster.bootstrap.servers' = '{broker.bootstrap}',
            'target.cluster.bootstrap.servers' = '{broker.bootstrap}',
            'topics' = '{topic_name}', 'replication.factor' = 1, 'sync.topic.acls.enabled' = false,
            'offset-syncs.topic.replication.factor' = 1,
            'key.converter' = '{converters}.ByteArrayConverter',
            'value.converter' = '{converters}.ByteArrayConverter');""")
        copy = f"here.{topic_name}"
        await_until(lambda: len(values(kafka, copy)) >= 100, "the copies", PATIENCE, every=0.5)
        assert sorted(values(kafka, copy), key=str) == sorted(values(kafka, topic_name), key=str)
        assert copy in worker.engine.texts("DESCRIBE CONNECTOR mirror;")
        connect = worker.engine.state.services.embedded_connect
        await_until(
            lambda: any(copy in flow.topics for flow in connect.flows), "the flow", PATIENCE
        )
        worker.engine.run("DROP CONNECTOR mirror;")
    finally:
        worker.close()


def test_it_rests_within_its_bound(worker: Worker) -> None:
    worker.start()
    assert psutil.Process(worker.status.pid).memory_info().rss < 250 << 20


def test_changed_plugins_stop_it_until_they_are_restored(worker: Worker) -> None:
    worker.start()
    (plugin,) = ensure_jars("connect-test")
    stopped = psutil.Process(worker.status.pid)
    (worker.data.plugins / plugin.stem / plugin.name).write_bytes(b"forged")
    (worker.data.plugins / f"{plugin.stem}.json").touch()
    with pytest.raises(ExternalError, match="are not those that were installed"):
        worker.start()
    assert not stopped.is_running()
    install(worker.data, str(plugin))
    worker.start()
    assert worker.engine.texts("SHOW CONNECTORS;") == []


def test_the_servers_of_a_service_have_none(tmp_path: Path, broker: EmbeddedBroker) -> None:
    config = EngineConfig(tmp_path, broker.bootstrap, service_id="s")
    with Offline(tmp_path / "own", broker.bootstrap) as engine:
        engine.state.services._config = config
        with pytest.raises(UnsupportedError) as raised:
            engine.run("SHOW CONNECTORS;")
    assert raised.value.hint == "SET 'ksql.connect.url' = 'http://host:8083';"
