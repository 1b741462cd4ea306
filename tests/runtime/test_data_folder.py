from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.data_folder import DataDir, Ownership
from streamsql.errors import ConfigError

_OWNER = """
import sys, time
from streamsql.data_folder import DataDir, Ownership
owned = Ownership(DataDir.at(sys.argv[1]))
print("owned", flush=True)
time.sleep(600)
"""


def test_the_users_choice_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMSQL_DATA", "/from/environment")
    assert DataDir.at("/chosen").root == Path("/chosen")
    assert DataDir.at().root == Path("/from/environment")
    monkeypatch.delenv("STREAMSQL_DATA")
    assert DataDir.at().root.name == "streamsql"


def test_one_engine_at_a_time(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "data")
    with Ownership(data):
        assert data.checkpoints.is_dir()
        with pytest.raises(ConfigError, match=rf"in use by another engine \(process {os.getpid()}"):
            Ownership(data)
    Ownership(data).close()


def test_a_new_data_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "data").create()
    made = (data.root, data.kafka, data.own_checkpoints, data.logs)
    assert {folder.stat().st_mode & 0o777 for folder in made} == {0o700}


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o750)
    assert DataDir.at(tmp_path / "data").create().root.stat().st_mode & 0o777 == 0o750


def test_an_engine_has_an_id_that_stays_on_whatever_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = DataDir.at(tmp_path / "a").create().instance
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert DataDir.at(tmp_path / "a").create().instance == first
    moved = (tmp_path / "a").rename(tmp_path / "b")
    assert DataDir.at(moved).create().instance == first
    assert DataDir.at(tmp_path / "a").create().instance != first
    assert [path.name for path in moved.iterdir() if path.is_file()] == ["instance"]


def test_push_topics_are_found_again_on_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pushed() -> str:
        with Offline(tmp_path / "data") as engine:
            return engine.state.pushes.topic_for("push").rpartition("_")[0]

    before = pushed()
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert pushed() == before
    (tmp_path / "data" / "instance").unlink()
    assert pushed() != before, "another engine on a host and in a folder of the same names"


def test_a_killed_engine_leaves_the_folder_free(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "owned\n"
        with pytest.raises(ConfigError, match=rf"\(process {other.pid}\)"):
            Ownership(data)
        other.send_signal(signal.SIGKILL)
    Ownership(data).close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot use the data folder"):
        Ownership(DataDir.at(tmp_path / "file" / "data"))
