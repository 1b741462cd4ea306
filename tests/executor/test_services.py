"""An engine that closes while its services come up starts nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.config import EngineConfig
from streamsql.data_folder import DataDir
from streamsql.errors import ExternalError
from streamsql.executor.services.services import Services
from streamsql.sizes import Machine, sizes_of


@pytest.mark.parametrize(
    ("name", "started"),
    [
        ("spark", "streamsql.executor.spark.session.SparkRuntime"),
        ("kafka", "streamsql.kafka.broker.EmbeddedBroker"),
    ],
)
def test_what_is_closed_just_before_its_start_is_not_started(
    name: str, started: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = sizes_of(Machine(2, 8192), {}, None, has_master=False)
    services = Services(EngineConfig(data_dir=tmp_path), DataDir.at(tmp_path), sizes)
    starts = []

    class Starting:
        def __init__(self, *arguments: object, **options: object) -> None:
            services.closing()

        def start(self) -> None:
            starts.append(name)

    monkeypatch.setattr(started, Starting)
    monkeypatch.setattr(services.jars, "get", lambda: True)
    service = getattr(services, name)
    service.start()
    with pytest.raises(ExternalError, match="the engine was closed"):
        service.get(60.0)
    assert starts == []
