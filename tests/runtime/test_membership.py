"""Which service an engine is of, and what of a data folder is whose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamsql.config import EngineConfig
from streamsql.errors import ConfigError, ExternalError
from streamsql.log.entries import Entry, FileLog
from streamsql.log.membership import claim, data_of, entries_before, joined


@pytest.fixture
def alone(tmp_path: Path) -> EngineConfig:
    return EngineConfig(data_dir=tmp_path)


def test_a_folder_that_a_server_has_used_stays_the_servers(alone: EngineConfig) -> None:
    assert joined(alone).service_id is None
    server = replace(alone, service_id="flights")
    claim(server, data_of(server).create())
    assert joined(alone).service_id == "flights"
    assert joined(server) == server
    with pytest.raises(ConfigError, match="belongs to the service flights"):
        joined(replace(alone, service_id="trains"))
    elsewhere = replace(alone, bootstrap_servers="kafka:9092")
    assert joined(elsewhere).service_id is None, "that cluster has statements of its own"


def test_a_service_of_another_cluster_does_not_claim_the_folder(alone: EngineConfig) -> None:
    server = replace(alone, service_id="flights", bootstrap_servers="kafka:9092")
    claim(server, data_of(server).create())
    assert joined(alone).service_id is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 201])
def test_a_name_that_no_topic_can_have(alone: EngineConfig, name: str) -> None:
    with pytest.raises(ConfigError, match="invalid service id"):
        joined(replace(alone, service_id=name))


def test_checkpoints_of_services_do_not_mix(alone: EngineConfig, tmp_path: Path) -> None:
    remote = replace(alone, bootstrap_servers="kafka:9092")
    shared = replace(remote, checkpoints=tmp_path / "shared")
    assert alone.data_dir is not None
    own = alone.data_dir / "checkpoints"
    assert data_of(alone).checkpoints == own
    assert data_of(remote).checkpoints == own
    assert data_of(replace(alone, service_id="a")).checkpoints == own, "one broker, one catalog"
    found = {
        data_of(replace(config, service_id=name)).checkpoints
        for config in (remote, shared)
        for name in ("a", "b")
    }
    assert len(found) == 4 and own not in found
    assert data_of(replace(shared, service_id="a")).checkpoints == tmp_path / "shared" / "a"
    assert data_of(replace(shared, service_id="a")).own_checkpoints == own


def test_what_the_shell_has_made_goes_to_the_folders_first_server(alone: EngineConfig) -> None:
    data = data_of(alone).create()
    log = FileLog(data.statements)
    log.append(Entry(1, "DEFINE x = 'y';"))
    log.close()
    assert entries_before(alone, data) == log.entries
    assert entries_before(replace(alone, bootstrap_servers="kafka:9092"), data) == []


def test_an_unreadable_service_name_is_not_taken_for_none(tmp_path: Path) -> None:
    """Else the engine would start with an empty catalog, and discard every checkpoint."""
    (tmp_path / "service").symlink_to("service")  # ELOOP, for any user
    with pytest.raises(ExternalError, match="cannot read"):
        joined(EngineConfig(tmp_path))
