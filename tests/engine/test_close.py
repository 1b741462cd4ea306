"""An engine closes, whatever Spark's JVM does."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamsql import engine as engines
from streamsql.config import EngineConfig
from streamsql.engine import Engine
from streamsql.executor.services.background import Service


def test_a_jvm_that_does_not_answer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped JVM, for one: calls into it have no timeout, and fail once it has died."""
    killed, done = threading.Event(), []

    def hang() -> None:
        done.append(killed.wait(20))

    def nothing(*_: object) -> None:
        pass

    quiet = SimpleNamespace(close=nothing)
    services = SimpleNamespace(closing=nothing, kill_spark=killed.set, close=nothing)
    monkeypatch.setattr(engines, "KILL_SECONDS", 0.2)
    engine = Engine(EngineConfig(tmp_path))
    engine._restored = Service("statements", nothing)  # type: ignore[arg-type]
    engine._state = SimpleNamespace(  # type: ignore[assignment]
        services=services,
        pushes=quiet,
        staged=None,
        queries=SimpleNamespace(close=hang),
        failover=None,
        watch=quiet,
        serving=quiet,
        captures=quiet,
        sinks_of_all=quiet,
    )
    engine._open = True
    engine.close()
    assert done == [True]
