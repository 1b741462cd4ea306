from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from streamsql.errors import InternalError
from streamsql.jvm.build import SOURCES, build_jar, ensure_runtime_jar
from streamsql.jvm.java import MINIMUM_VERSION, find_java
from streamsql.jvm.sources import hash_in_jar, hash_of_sources


def _source(folder: Path, name: str, text: str) -> None:
    (folder / "demo").mkdir(parents=True, exist_ok=True)
    (folder / "demo" / f"{name}.java").write_text(text)


def test_the_hash_follows_names_and_contents(tmp_path: Path) -> None:
    _source(tmp_path, "A", "class A {}")
    first = hash_of_sources(tmp_path)
    assert hash_of_sources(tmp_path) == first
    (tmp_path / "streamsql-jvm.jar").write_bytes(b"not a source")
    assert hash_of_sources(tmp_path) == first
    _source(tmp_path, "A", "class A { }")
    second = hash_of_sources(tmp_path)
    (tmp_path / "demo" / "A.java").rename(tmp_path / "demo" / "B.java")
    assert len({first, second, hash_of_sources(tmp_path)}) == 3


def test_a_file_that_is_no_jar_of_ours_has_no_hash(tmp_path: Path) -> None:
    path = tmp_path / "x.jar"
    assert hash_in_jar(path) is None
    path.write_bytes(b"broken")
    assert hash_in_jar(path) is None
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    assert hash_in_jar(path) is None


@pytest.mark.spark
def test_a_built_jar_runs_and_knows_its_sources(tmp_path: Path) -> None:
    sources, jar = tmp_path / "sources", tmp_path / "out" / "demo.jar"
    _source(
        sources,
        "Main",
        "package demo; import org.apache.spark.sql.Row; class Main {"
        " Row compiledAgainstSpark;"
        " public static void main(String[] a) { System.out.print(1 + 1); } }",
    )
    build_jar(sources, jar)
    assert hash_in_jar(jar) == hash_of_sources(sources)
    done = subprocess.run(
        [find_java().program, "-cp", jar, "demo.Main"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2"
    assert [path.name for path in jar.parent.iterdir()] == ["demo.jar"]


@pytest.mark.spark
def test_sources_that_do_not_compile_are_a_bug_and_leave_no_jar(tmp_path: Path) -> None:
    _source(tmp_path / "sources", "Bad", "class Bad { int x = ; }")
    jar = tmp_path / "out" / "bad.jar"
    with pytest.raises(InternalError, match="the JVM part does not compile") as raised:
        build_jar(tmp_path / "sources", jar)
    assert raised.value.detail is not None
    assert raised.value.detail.startswith("demo/Bad.java:1: error: illegal start of expression")
    assert not jar.exists()


@pytest.mark.spark
def test_a_warning_of_the_least_version_s_compiler_is_an_error(tmp_path: Path) -> None:
    if find_java().version != MINIMUM_VERSION:
        pytest.skip("a later compiler warns of more, and only warns")
    _source(tmp_path / "sources", "Raw", "class Raw { java.util.List items; }")
    with pytest.raises(InternalError) as raised:
        build_jar(tmp_path / "sources", tmp_path / "raw.jar")
    assert "[rawtypes]" in str(raised.value.detail)


@pytest.mark.spark
def test_the_runtime_jar_is_that_of_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    jar = ensure_runtime_jar()
    assert hash_in_jar(jar) == hash_of_sources(SOURCES)
    with zipfile.ZipFile(jar) as archive:
        assert "io/streamsql/kafka/BrokerMain.class" in archive.namelist()
    # It is there now: no compiler is needed any more.
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert ensure_runtime_jar() == jar
