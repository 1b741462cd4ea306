from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
