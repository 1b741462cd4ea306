"""A statement that is killed between any two of its effects, and again while that is mended: in the
end all of it is there, or nothing. Kafka is played here; tests/delivery kills real engines."""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from engine.offline import Offline

from streamsql.config import EngineConfig
from streamsql.errors import ExternalError
from streamsql.executor.queries import checkpoint, garbage_collection, manager
from streamsql.executor.services.background import Service
from streamsql.log.entries import FileLog
from streamsql.runtime import reconcile as reconciling
from streamsql.runtime.reconcile import reconcile
from streamsql.runtime.restore import restore
from streamsql.runtime.state import EngineState

BEFORE = """
SET 'processing.guarantee' = 'exactly_once';
CREATE STREAM a (k INT KEY, x INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b AS SELECT k, x FROM a EMIT CHANGES;
CREATE STREAM c AS SELECT k, x FROM b EMIT CHANGES;
INSERT INTO c WITH (QUERY_ID = 'two') SELECT k, x FROM a EMIT CHANGES;
"""


Effect = TypeVar("Effect")


class Killed(BaseException):
    """The process has ended."""


class Cluster:
    """What of Kafka outlives engines: topics with their ids, tokens by their checkpoints."""

    def __init__(self) -> None:
        self.ids = map(str, itertools.count(1))
        self.made: dict[str, str] = {}
        self.tokens: set[str] = set()
        self.moments = 0
        """How many there have been at which an engine could be killed."""
        self.kill_at: int | None = None
        self.hidden: set[str] = set()
        """Topics that the engine may not see."""

    def effect(self, act: Callable[[], Effect]) -> Effect:
        """Something that changes what outlives the engine: it may be killed before, or after."""
        self._tick()
        done = act()
        self._tick()
        return done

    def _tick(self) -> None:
        self.moments += 1
        if self.moments == self.kill_at:
            raise Killed

    # -- as engines know it ----------------------------------------------------------------------

    def create_topic(self, name: str, *_: object, **__: object) -> bool:
        self.effect(lambda: self.made.setdefault(name, next(self.ids)))
        return True

    def describe(self, name: str) -> Any:
        return type("Found", (), {"partitions": 1, "replicas": 1}) if name in self.made else None

    def topics(self) -> list[str]:
        return sorted(self.made.keys() - self.hidden)

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        if self.hidden & set(names):
            raise ExternalError("Topic authorization failed")
        return {name: self.made[name] for name in names if name in self.made}

    def delete_topic(self, name: str, *, missing_ok: bool) -> bool:
        return self.effect(lambda: self.made.pop(name, None)) is not None

    def retire_tokens(self, client: object, topic: str, checkpoints: Iterable[str]) -> int:
        for found in checkpoints:
            self.effect(lambda found=found: self.tokens.discard(found))  # type: ignore[misc]
        return 0


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Records every effect of a statement."""
    cluster = Cluster()

    def told(place: object, name: str) -> None:
        real = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given: cluster.effect(lambda: real(*given)))

    told(FileLog, "append")
    told(checkpoint, "discard")
    told(garbage_collection, "erase")
    told(reconciling, "delete_subjects")
    monkeypatch.setattr(garbage_collection, "retire_tokens", cluster.retire_tokens)
    assert manager.checkpoint is checkpoint
    return cluster


class Life(Offline):
    """An engine from its start, with its repairs, to its end."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.cluster = cluster
        self.state = EngineState(EngineConfig(data_dir=folder, bootstrap_servers="127.0.0.1:1"))
        self.state.data.create()
        kafka = self.state.services.kafka = Service("kafka", lambda report: cluster)  # type: ignore[assignment,arg-type]
        kafka.start()
        # In this thread, as it may be killed.
        log = restore(self.state)
        self.state.restored = Service("statements", lambda report: log)
        self.state.restored.start()
        try:
            reconcile(self.state)
        except BaseException:
            self.close()
            raise

    def begin_queries(self) -> None:
        """Each gets its checkpoint, as Spark writes it, and a token."""
        for query, known in self.state.queries.known().items():
            folder = self.state.data.checkpoints / query
            checkpoint.claim(folder, known.definition.generation)
            if checkpoint.id_of(folder) is None:
                name = f"{query}-{known.definition.generation}"
                (folder / "metadata").write_text(json.dumps({"id": name}))
                self.cluster.tokens.add(name)


def there(folder: Path, cluster: Cluster) -> tuple[Any, ...]:
    """All that outlives an engine."""
    folders = sorted(path.name for path in (folder / "checkpoints").iterdir())
    with Offline(folder) as engine:
        state = engine.state
        queries = {q: k.definition.sql for q, k in state.queries.known().items()}
        return (
            sorted(state.catalog.sources),
            queries,
            folders,
            sorted(cluster.made),
            sorted(cluster.tokens),
        )


def live(folder: Path, cluster: Cluster, sql: str, kill_at: int | None = None) -> bool:
    """An engine's life with a statement, killed at a moment; whether it was."""
    cluster.moments, cluster.kill_at = 0, kill_at
    try:
        with Life(folder, cluster) as engine:
            engine.run(sql)
            engine.state.launcher.sweep()
    except Killed:
        return True
    finally:
        cluster.kill_at = None
    return False


STATEMENTS = (
    "DROP STREAM c CASCADE;",
    "DROP STREAM c CASCADE DELETE TOPIC;",
    "DROP STREAM a CASCADE DELETE TOPIC;",
    "TERMINATE ALL;",
    "CREATE OR REPLACE STREAM b AS SELECT k, x + 1 AS x FROM a;",
)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_killed_at_every_moment(tmp_path: Path, cluster: Cluster, sql: str) -> None:
    with Life(tmp_path / "before", cluster) as engine:
        engine.run(BEFORE)
        engine.begin_queries()
    made, tokens = dict(cluster.made), set(cluster.tokens)

    def prepared(name: str) -> Path:
        cluster.made, cluster.tokens = dict(made), set(tokens)
        shutil.copytree(tmp_path / "before", tmp_path / name)
        return tmp_path / name

    before = there(tmp_path / "before", cluster)
    whole = prepared("whole")
    assert not live(whole, cluster, sql)
    after, moments = there(whole, cluster), cluster.moments
    assert after != before and not any(".gone" in name for name in after[2])
    for moment in range(1, moments + 1):
        folder = prepared(f"killed-{moment}")
        assert live(folder, cluster, sql, moment)
        # Killed again, while the next start mends what is left, for as long as it does anything.
        again = 1
        while live(folder, cluster, "", again):
            again += 1
        found = there(folder, cluster)
        assert found == (before if moment == 1 else after), (
            f"killed at moment {moment} of {moments}"
        )


def test_a_topic_that_was_recreated_is_another_one(tmp_path: Path, cluster: Cluster) -> None:
    with Life(tmp_path, cluster) as engine:
        engine.run(f"{BEFORE} DROP STREAM c CASCADE DELETE TOPIC;")
        assert sorted(cluster.made) == ["B", "a"]
    cluster.create_topic("C")
    for _ in range(2):
        with Life(tmp_path, cluster):
            assert "C" in cluster.made, "another client has created it since"


def test_a_topic_that_a_later_statement_uses_stays(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> bool:
        raise ExternalError("not allowed")

    with Life(tmp_path, cluster) as engine:
        engine.run(BEFORE)
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "delete_topic", refused)
            said = engine.texts("DROP STREAM c CASCADE DELETE TOPIC;")
        assert "The topic C was not deleted: not allowed" in said
        engine.run("CREATE STREAM c AS SELECT k, x FROM a EMIT CHANGES;")
        assert not engine.state.deletions
    with Life(tmp_path, cluster):
        assert "C" in cluster.made


def test_a_topic_that_cannot_be_seen_may_be_there(
    tmp_path: Path, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with Life(tmp_path, cluster) as engine:
        engine.run(BEFORE)
        cluster.moments, cluster.kill_at = 0, 2
        with pytest.raises(Killed):
            engine.run("DROP STREAM c CASCADE DELETE TOPIC;")
        assert "C" in cluster.made
    cluster.kill_at, cluster.hidden = None, {"C"}
    with Life(tmp_path, cluster) as engine:
        assert "C" in engine.state.deletions
        assert "The topic C was not deleted: Topic authorization failed" in caplog.text
        cluster.hidden = set()
        assert reconciling.delete_topics(engine.state) == []
        assert "C" not in cluster.made and not engine.state.deletions


@pytest.mark.parametrize("call", ["topic_ids", "delete_topic"])
def test_a_drop_that_waits_for_kafka_holds_up_no_other_statement(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    asked, answers = threading.Event(), threading.Event()
    real = getattr(cluster, call)

    def slow(*given: Any, **named: Any) -> Any:
        asked.set()
        assert answers.wait(60)
        return real(*given, **named)

    create = "CREATE STREAM d (k INT KEY, x INT) WITH (KAFKA_TOPIC = 'C', VALUE_FORMAT = 'JSON');"
    with Life(tmp_path, cluster) as engine:
        engine.run(BEFORE)
        monkeypatch.setattr(cluster, call, slow)
        said: list[str] = []
        sql = "DROP STREAM c CASCADE DELETE TOPIC;"
        dropping = threading.Thread(target=lambda: said.extend(engine.texts(sql)), daemon=True)
        dropping.start()
        try:
            assert asked.wait(10)
            free = engine.state.lock.acquire(timeout=10)
            assert free, "the lock is held"
            engine.state.lock.release()
            if call == "delete_topic":
                with pytest.raises(ExternalError, match="the topic C is being deleted"):
                    engine.run(create)
        finally:
            answers.set()
            dropping.join(30)
        assert not any("not deleted" in text for text in said), said
        assert "C" not in cluster.made and not engine.state.deletions
        assert "C" not in engine.state.catalog.sources
