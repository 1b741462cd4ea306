from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from streamsql.errors import ExternalError, InternalError
from streamsql.jvm import jars, lock
from streamsql.jvm.jars import Jar


def _jar(name: str, content: bytes) -> Jar:
    digest = hashlib.sha256(content).hexdigest()
    return Jar("spark", "org.example", name, "1.0", len(content), digest)


def _store(folder: Path, jar: Jar, content: bytes) -> Path:
    path = folder / jar.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _repository(folder: Path, contents: dict[str, bytes]) -> Path:
    """A Maven repository of files, and the ivysettings.xml that names it."""
    for name, content in contents.items():
        home = folder / "org" / "example" / name / "1.0"
        home.mkdir(parents=True)
        (home / f"{name}-1.0.jar").write_bytes(content)
    settings = folder / "ivysettings.xml"
    settings.write_text(
        f"""<ivysettings><settings defaultResolver="files"/><resolvers>
        <filesystem name="files" m2compatible="true"><artifact
          pattern="{folder}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
        </filesystem></resolvers></ivysettings>"""
    )
    return settings


def test_every_line_of_the_lock_file_has_its_own_place_in_the_cache() -> None:
    groups = [lock.locked_jars(group) for group in get_args(lock.Group)]
    assert [len(group) for group in groups] == [6, 45, 59, 1, 15, 1, 35, 12, 17, 1, 1, 1]
    every = [jar for group in groups for jar in group]
    # Spark, the broker and Connect have jars in common, lookups and tests the driver.
    assert len({jar.path for jar in every}) == len({jar.sha256 for jar in every}) == 178


def test_a_broken_lock_line_is_named() -> None:
    with pytest.raises(InternalError, match="line 2: not a jar: spark a:b"):
        lock.parse_lock("# comment\nspark a:b:1 12 abc\n")


def test_cached_jars_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = _jar("a", b"content")
    path = _store(tmp_path, jar, b"content")
    # No Java to be found: nothing may be fetched.
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert jars.ensure("g", [jar], tmp_path) == [path]
    assert jars.ensure("g", [jar], tmp_path) == [path]


def test_a_verified_jar_is_not_read_again(tmp_path: Path) -> None:
    jar = _jar("a", b"content")
    path = _store(tmp_path, jar, b"content")
    jars.ensure("g", [jar], tmp_path)
    path.chmod(0)
    before = path.stat().st_atime_ns
    assert jars.ensure("g", [jar], tmp_path) == [path]
    assert path.stat().st_atime_ns == before


def test_a_wrong_checksum_is_an_error_and_removes_the_file(tmp_path: Path) -> None:
    jar = _jar("a", b"content")
    path = _store(tmp_path, jar, b"other")
    with pytest.raises(ExternalError, match="wrong checksum of org.example:a:1.0") as raised:
        jars.ensure("g", [jar], tmp_path)
    assert raised.value.detail is not None
    assert jar.sha256 in raised.value.detail
    assert hashlib.sha256(b"other").hexdigest() in raised.value.detail
    assert not path.exists()


def test_a_jar_changed_after_it_was_verified_is_noticed(tmp_path: Path) -> None:
    jar = _jar("a", b"content")
    path = _store(tmp_path, jar, b"content")
    jars.ensure("g", [jar], tmp_path)
    path.write_bytes(b"CONTENT")
    os.utime(path, ns=(1, 1))
    with pytest.raises(ExternalError, match="wrong checksum"):
        jars.ensure("g", [jar], tmp_path)


def test_a_new_lock_line_makes_the_old_marker_void(tmp_path: Path) -> None:
    jar = _jar("a", b"content")
    _store(tmp_path, jar, b"content")
    jars.ensure("g", [jar], tmp_path)
    with pytest.raises(ExternalError, match="wrong checksum"):
        jars.ensure("g", [_jar("a", b"another content")], tmp_path)


@pytest.mark.spark
def test_jars_come_from_the_users_own_repository_with_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"a": b"jar a", "b": b"jar b"}
    settings = _repository(tmp_path / "repository", contents)
    monkeypatch.setenv("STREAMSQL_IVY_SETTINGS", str(settings))
    wanted = [_jar(name, content) for name, content in contents.items()]
    calls: list[tuple[int, int, str]] = []
    cache = tmp_path / "cache"
    cache.mkdir()
    paths = jars.ensure("g", wanted, cache, lambda *call: calls.append(call))
    assert [path.read_bytes() for path in paths] == [b"jar a", b"jar b"]
    assert calls == [(0, 2, ""), (1, 2, "a"), (2, 2, "b")]
    assert not list(cache.glob(".fetch-*"))


@pytest.mark.spark
def test_a_fetched_jar_with_a_wrong_checksum_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _repository(tmp_path / "repository", {"a": b"forged"})
    monkeypatch.setenv("STREAMSQL_IVY_SETTINGS", str(settings))
    cache = tmp_path / "cache"
    cache.mkdir()
    with pytest.raises(ExternalError, match="wrong checksum of org.example:a:1.0"):
        jars.ensure("g", [_jar("a", b"genuine")], cache)
    assert not list(cache.rglob("*.jar"))


@pytest.mark.spark
def test_a_jar_that_is_not_to_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _repository(tmp_path / "repository", {"a": b"jar a"})
    monkeypatch.setenv("STREAMSQL_IVY_SETTINGS", str(settings))
    wanted = [_jar("a", b"jar a"), _jar("missing", b"")]
    with pytest.raises(ExternalError, match="cannot fetch org.example:missing:1.0") as raised:
        jars.ensure("g", wanted, tmp_path)
    assert raised.value.retryable
    assert raised.value.hint is not None and "STREAMSQL_IVY_SETTINGS" in raised.value.hint


@pytest.mark.spark
def test_processes_that_need_the_same_jar_fetch_it_once(tmp_path: Path) -> None:
    settings = _repository(tmp_path / "repository", {"a": b"jar a"})
    cache = tmp_path / "cache"
    cache.mkdir()
    program = f"""
from pathlib import Path
from streamsql.jvm import jars
from streamsql.jvm.lock import Jar
jar = Jar("spark", "org.example", "a", "1.0", 5, {hashlib.sha256(b"jar a").hexdigest()!r})
calls = []
[path] = jars.ensure("g", [jar], Path({str(cache)!r}), lambda *call: calls.append(call))
print(path.read_text(), len(calls))
"""
    environment = {**os.environ, "STREAMSQL_IVY_SETTINGS": str(settings)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(3)
    ]
    outputs = sorted(process.communicate(timeout=60)[0].strip() for process in started)
    assert outputs == ["jar a 0", "jar a 0", "jar a 2"]
