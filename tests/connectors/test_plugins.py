"""Plugins of the embedded Connect worker: installed, verified, removed. None of them is run."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from streamsql.cli.main import main
from streamsql.connectors.embedded.plugins import (
    are_declared,
    fingerprint,
    install,
    installed,
    remove,
    verified,
)
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    return DataDir.at(tmp_path / "data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plugin with a library, and with a jar that the worker has."""
    folder = tmp_path / "plug"
    (folder / "lib").mkdir(parents=True)
    (folder / "plug-1.0.jar").write_bytes(b"plug")
    (folder / "lib" / "helper-2.jar").write_bytes(b"helper")
    (folder / "lib" / "kafka-clients-3.9.1.jar").write_bytes(b"kafka")
    (folder / "README").write_text("not a jar")
    return folder


def test_a_folder_is_copied_without_what_the_worker_provides(data: DataDir, folder: Path) -> None:
    plugin = install(data, str(folder))
    assert list(plugin.files) == ["lib/helper-2.jar", "plug-1.0.jar"]
    assert installed(data) == [plugin]
    copies = [str(path.relative_to(data.plugins)) for path in data.plugins.rglob("*.jar")]
    assert sorted(copies) == ["plug/lib/helper-2.jar", "plug/plug-1.0.jar"]
    assert verified(data) == fingerprint(data)


def test_the_plugin_of_the_same_name_is_replaced(data: DataDir, folder: Path) -> None:
    install(data, str(folder))
    before = fingerprint(data)
    (folder / "lib" / "helper-2.jar").rename(folder / "lib" / "helper-3.jar")
    plugin = install(data, str(folder))
    assert list(plugin.files) == ["lib/helper-3.jar", "plug-1.0.jar"]
    assert verified(data) != before


@pytest.mark.parametrize("change", ["content", "addition", "removal"])
def test_changed_files_are_refused(data: DataDir, folder: Path, change: str) -> None:
    install(data, str(folder))
    jar = data.plugins / "plug" / "plug-1.0.jar"
    if change == "content":
        jar.write_bytes(b"PLUG")
    elif change == "addition":
        jar.with_name("more.jar").write_bytes(b"")
    else:
        jar.unlink()
    with pytest.raises(ExternalError, match="plugin plug are not those that were installed") as e:
        verified(data)
    assert e.value.hint and f"install {folder}" in e.value.hint
    remove(data, "plug")
    assert verified(data) == ()
    assert not list(data.plugins.iterdir())


def test_declared_classes_are_noticed(data: DataDir, folder: Path) -> None:
    assert are_declared(data)
    with zipfile.ZipFile(folder / "plug-1.0.jar", "w") as jar:
        jar.writestr("META-INF/services/org.apache.kafka.connect.sink.SinkConnector", "a.Plug")
    install(data, str(folder))
    assert are_declared(data)
    install(data, str(folder / "lib" / "helper-2.jar"))
    assert not are_declared(data)


def test_a_folder_that_was_not_installed_is_refused(data: DataDir, folder: Path) -> None:
    data.plugins.mkdir(parents=True)
    folder.rename(data.plugins / "plug")
    with pytest.raises(ExternalError, match="plugin plug"):
        verified(data)
    remove(data, "plug")
    assert verified(data) == ()


def test_a_jar_and_the_command_line(
    data: DataDir, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jar, at = folder / "plug-1.0.jar", ["--data", str(data.root)]
    assert main(["connectors", "install", str(jar), *at]) == 0
    assert main(["connectors", "list", *at]) == 0
    assert main(["connectors", "remove", "plug-1.0", *at]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Plugin plug-1.0 installed: 1 files",
        f"plug-1.0\t{jar}",
        "Plugin plug-1.0 removed",
    ]
    assert main(["connectors", "remove", "plug-1.0", *at]) == 1
    assert "no plugin plug-1.0 is installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ("nowhere", "neither a folder nor a .jar file"),
        ("README", "neither a folder nor a .jar file"),
        ("empty", "no jars in"),
        ("-x.jar", "cannot be the name of a plugin"),
    ],
)
def test_other_origins(data: DataDir, folder: Path, origin: str, message: str) -> None:
    (folder / "empty").mkdir()
    (folder / "-x.jar").write_bytes(b"x")
    with pytest.raises(ConfigError, match=message):
        install(data, str(folder / origin))
    assert installed(data) == []
    assert not list(data.connect.glob("install-*"))


_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>{0}</groupId>
<artifactId>{1}</artifactId><version>1.0</version><dependencies>{2}</dependencies></project>"""
_NEED = """<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>1.0</version>
<scope>{2}</scope></dependency>"""


def _publish(repository: Path, group: str, name: str, *needs: tuple[str, str, str]) -> None:
    home = repository.joinpath(*group.split("."), name, "1.0")
    home.mkdir(parents=True)
    (home / f"{name}-1.0.jar").write_text(name)
    needed = "".join(_NEED.format(*need) for need in needs)
    (home / f"{name}-1.0.pom").write_text(_POM.format(group, name, needed))


@pytest.mark.spark
def test_an_artifact_comes_with_what_it_needs(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    _publish(
        repository,
        "org.example",
        "plug",
        ("org.example", "helper", "runtime"),
        ("org.apache.kafka", "connect-api", "compile"),
        ("org.example", "checker", "test"),
    )
    _publish(repository, "org.example", "helper", ("org.example", "deeper", "compile"))
    for name in ("deeper", "checker", "codec"):
        _publish(repository, "org.example", name)
    # What only an excluded artifact needs is not needed.
    _publish(repository, "org.apache.kafka", "connect-api", ("org.example", "codec", "compile"))
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="files"/><resolvers>'
        f'<ibiblio name="files" m2compatible="true" root="{repository.as_uri()}"/>'
        "</resolvers></ivysettings>"
    )
    monkeypatch.setenv("STREAMSQL_IVY_SETTINGS", str(settings))
    names: list[str] = []
    plugin = install(data, "org.example:plug:1.0", names.append)
    assert list(plugin.files) == [
        f"org.example/{name}-1.0.jar" for name in ("deeper", "helper", "plug")
    ]
    assert sorted(names) == ["deeper", "helper", "plug"]
    assert verified(data) == fingerprint(data)
    with pytest.raises(ExternalError, match="cannot fetch org.example:plug:2.0") as raised:
        install(data, "org.example:plug:2.0")
    assert raised.value.detail and "org.example#plug;2.0: not found" in raised.value.detail
    assert [plugin.name for plugin in installed(data)] == ["plug"]
