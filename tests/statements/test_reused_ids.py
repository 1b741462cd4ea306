"""`apply` defines a query whose id belongs to one that was terminated and has not stopped."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine.offline import Offline

from streamsql.errors import ExternalError
from streamsql.executor.queries import events, manager
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.services.background import Service
from streamsql.results import Message
from streamsql.run_script import NamedText
from streamsql.statements.changes.apply import Files, apply_files
from streamsql.statements.changes.rebuilding import Rebuilds
from tests.statements.world import data_folder

BEFORE = """
CREATE STREAM a (k INT KEY, x INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b AS SELECT k, x FROM a EMIT CHANGES;
"""
TWO = "INSERT INTO b WITH (QUERY_ID = 'two') SELECT k, x FROM a EMIT CHANGES;"


class Kafka:
    """Every topic is there."""

    def describe(self, name: str) -> Any:
        return SimpleNamespace(partitions=1, replicas=1)


def test_a_query_that_has_not_stopped_keeps_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def applied() -> None:
        with Rebuilds(engine.state, from_what_is_left=False) as rebuilds:
            files = Files(lambda: [NamedText("two.sql", TWO)], partial=True)
            done = apply_files(files, engine.context(), rebuilds)
        assert any(isinstance(result, Message) for result in done)

    with Offline(data_folder(tmp_path, BEFORE + TWO)) as engine:
        kafka: Any = Service("kafka", lambda report: Kafka())
        kafka.start()
        engine.state.services.kafka = kafka
        with monkeypatch.context() as patch:
            patch.setattr(manager, "STOP_SECONDS", 0.05)
            patch.setattr(QueryManager, "_execute", lambda *_: None)
            engine.run("TERMINATE TWO;")
            runs = engine.state.queries._queries["TWO"]
            entries = len(engine.state.log.entries)
            with pytest.raises(ExternalError, match="query TWO does not stop"):
                applied()
        assert engine.state.queries._queries["TWO"] is runs
        assert len(engine.state.log.entries) == entries
        engine.state.queries._post("TWO", events.CheckpointDiscarded())
        applied()
        found = engine.state.queries._queries["TWO"]
        assert found is not runs and not found.goal.removed
