from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from streamsql.errors import ConfigError, ExternalError
from streamsql.jvm.java import find_java, inherited_environment


def _java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("version", "major"), [("17", 17), ("17.0.15", 17), ("21.0.2+13", 21), ("26-ea", 26)]
)
def test_java_home_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "jdk", version)))
    assert find_java().version == major


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16"])
def test_an_old_java_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "jdk", version)))
    with pytest.raises(ConfigError, match="streamsql needs 17 or newer"):
        find_java()


def test_a_wrong_java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=f"JAVA_HOME is {tmp_path}"):
        find_java()


def test_java_of_the_path_is_found_through_its_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java().home == home


def test_no_java_says_how_to_install_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExternalError, match="no Java found") as raised:
        find_java()
    assert raised.value.hint is not None and "install" in raised.value.hint.lower()


def test_a_java_that_does_not_run_is_no_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _java(tmp_path / "jdk", "17")
    (home / "release").unlink()
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(ExternalError, match="is not a working Java"):
        find_java()


def test_a_runtime_without_compiler_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "jre", "17")))
    with pytest.raises(ExternalError, match="has no compiler"):
        _ = find_java().javac


def test_the_environment_is_copied_while_another_thread_changes_it() -> None:
    """PySpark sets variables while it starts, and the broker starts beside it."""
    name, ended = "SPARK_TEST_VARIABLE", threading.Event()

    def change() -> None:
        while not ended.is_set():
            os.environ[name] = ""
            del os.environ[name]

    interval, thread = sys.getswitchinterval(), threading.Thread(target=change)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        found = [inherited_environment() for _ in range(300)]
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert all(copy["PATH"] == os.environ["PATH"] and name not in copy for copy in found)
