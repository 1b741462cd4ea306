"""Connector plugins of the embedded worker: a folder each, with the checksums of its files noted
beside it. The worker starts with plugins only whose files are those that were installed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from streamsql.connectors.client import Plugin
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError, did_you_mean
from streamsql.jvm import ivy
from streamsql.jvm.cache import exclusive
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.lock import Group, locked_jars

Fingerprint = tuple[tuple[str, int], ...]

_MAVEN = re.compile(r"([\w.\-]+):([\w.\-]+):([\w.\-]+)")
_NAME = re.compile(r"\w[\w.\-]*", re.ASCII)
_DECLARATIONS = "META-INF/services/org.apache.kafka.connect."
_CONNECTORS = {"source.SourceConnector": "source", "sink.SinkConnector": "sink"}
_SHARED = ("org.apache.kafka", "org.slf4j", "org.apache.logging.log4j")
"""Connect gives these classes to plugins, which may have other libraries of their own."""


@dataclass(frozen=True)
class InstalledPlugin:
    """`origin`: its Maven coordinates, or the file or folder that it was copied from; `files`: the
    path of each file in the plugin's folder, and its SHA-256."""

    name: str
    origin: str
    files: Mapping[str, str]


def install(
    data: DataDir, origin: str, downloaded: Callable[[str], None] = lambda name: None
) -> InstalledPlugin:
    """Installs `group:artifact:version`, a folder with jars or a jar, replacing the plugin of the
    same name. `downloaded` is called with the name of each file. ConfigError for another origin,
    ExternalError if it cannot be downloaded."""
    with _changing(data) as folder:
        if match := _MAVEN.fullmatch(origin):
            name = match[2]
            jars = ivy.resolve(origin, _provided(), folder, downloaded)
        else:
            path = Path(origin).expanduser().resolve()
            name, jars = path.stem if path.is_file() else path.name, _copy(path, folder)
        if not jars:
            raise ConfigError(f"no jars in {origin}", hint="A plugin consists of jars.")
        if not _NAME.fullmatch(name):
            raise ConfigError(f"'{name}' cannot be the name of a plugin", hint="Rename its file.")
        plugin = InstalledPlugin(name, origin, _checksums(folder))
        _discard(data, name)
        folder.rename(data.plugins / name)
        draft = data.connect / "note.new"
        draft.write_text(json.dumps({"origin": origin, "files": dict(plugin.files)}), "utf-8")
        os.replace(draft, _note(data, name))
    return plugin


def installed(data: DataDir) -> list[InstalledPlugin]:
    """The plugins, by name."""
    return [_read(note) for note in sorted(data.plugins.glob("*.json"))]


def remove(data: DataDir, name: str) -> None:
    """ConfigError if there is no such plugin."""
    names = [path.stem for path in data.plugins.glob("*.json")]
    if name not in names and not (data.plugins / name).is_dir():
        hint = did_you_mean(name, names) or "streamsql connectors list shows the plugins."
        raise ConfigError(f"no plugin {name} is installed", hint=hint)
    with _changing(data):
        _discard(data, name)


def verified(data: DataDir) -> Fingerprint:
    """A fingerprint of the plugins, whose files are verified: ExternalError names one that has
    changed since it was installed."""
    for folder in data.bundled.glob("*"):
        bundle(data, cast(Group, folder.name))
    state = fingerprint(data)
    plugins = {plugin.name: plugin for plugin in installed(data)}
    found = {path.name for path in data.plugins.glob("*") if path.suffix != ".json"}
    for name in sorted(found | plugins.keys()):
        if name not in plugins or _checksums(data.plugins / name) != plugins[name].files:
            origin = plugins[name].origin if name in plugins else "ORIGIN"
            raise ExternalError(
                f"the files of the connector plugin {name} are not those that were installed",
                detail=f"They are in {data.plugins / name}.",
                hint=f"streamsql connectors install {origin} restores it, "
                f"streamsql connectors remove {name} removes it.",
            )
    return state


def fingerprint(data: DataDir) -> Fingerprint:
    """Changes whenever a plugin is installed, removed or bundled."""
    notes = sorted([*data.plugins.glob("*.json"), *data.bundled.glob("*")])
    return tuple((note.stem, note.stat().st_mtime_ns) for note in notes)


def are_declared(data: DataDir) -> bool:
    """Whether each plugin declares its classes, so that Connect need not search all jars."""
    return all(any(_declarations(folder)) for folder in data.plugins.glob("*/"))


def declared(data: DataDir) -> tuple[list[Plugin], list[str]]:
    """The connectors that the plugins declare, and the plugins that declare nothing: only a worker
    knows their connectors."""
    folders = sorted([*data.plugins.glob("*/"), *data.bundled.glob("*/")])
    found = {
        name: Plugin(name, type, "")
        for folder in folders
        for kind, names in _declarations(folder)
        if (type := _CONNECTORS.get(kind)) is not None
        for name in names
    }
    return list(found.values()), [f.name for f in folders if not any(_declarations(f))]


def _declarations(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Kinds of classes, and their names."""
    for jar in sorted(folder.rglob("*.jar")):
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.startswith(_DECLARATIONS):
                    text = archive.read(entry).decode(errors="replace")
                    lines = (line.partition("#")[0].strip() for line in text.splitlines())
                    yield entry.removeprefix(_DECLARATIONS), [line for line in lines if line]


def bundle(data: DataDir, group: Group) -> None:
    """Gives the worker a plugin of the lock file, by links to the verified jars."""
    links = {jar.name: jar for jar in ensure_jars(group)}
    folder = data.bundled / group
    if not folder.is_dir() or {link.name: link.readlink() for link in folder.iterdir()} != links:
        with _changing(data) as draft:
            for name, jar in links.items():
                (draft / name).symlink_to(jar)
            data.bundled.mkdir(mode=0o700, exist_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            draft.rename(folder)


@contextmanager
def _changing(data: DataDir) -> Iterator[Path]:
    """An empty folder for a new plugin, while no other process changes the plugins."""
    data.create().plugins.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        exclusive(data.connect / "plugins.lock"),
        tempfile.TemporaryDirectory(prefix="install-", dir=data.connect) as temporary,
    ):
        folder = Path(temporary) / "plugin"
        folder.mkdir()
        yield folder


def _provided() -> list[tuple[str, str]]:
    """Organisation and artifact of the jars that plugins must not bring."""
    jars = locked_jars("connect")
    return [(j.organisation, j.artifact) for j in jars if j.organisation in _SHARED]


def _copy(origin: Path, folder: Path) -> list[Path]:
    """Copies jars, except those that the worker provides."""
    if origin.is_dir():
        sources, base = sorted(origin.rglob("*.jar")), origin
    elif origin.is_file() and origin.suffix == ".jar":
        sources, base = [origin], origin.parent
    else:
        raise ConfigError(
            f"{origin} is neither a folder nor a .jar file",
            hint="A plugin is installed as GROUP:ARTIFACT:VERSION, from a folder, or from a jar.",
        )
    names = "|".join(re.escape(artifact) for _, artifact in _provided())
    provided = re.compile(rf"(?:{names})-\d[\w.\-]*\.jar")
    copies = []
    for source in sources:
        if not provided.fullmatch(source.name):
            copy = folder / source.relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            copies.append(copy)
    return copies


def _checksums(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): _sha256(path) for path in _files(folder)}


def _files(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _discard(data: DataDir, name: str) -> None:
    """The note last: without it the folder is not verified, and can still be removed."""
    if (data.plugins / name).exists():
        shutil.rmtree(data.plugins / name)
    _note(data, name).unlink(missing_ok=True)


def _note(data: DataDir, name: str) -> Path:
    return data.plugins / f"{name}.json"


def _read(note: Path) -> InstalledPlugin:
    try:
        found = json.loads(note.read_text("utf-8"))
        return InstalledPlugin(note.stem, found["origin"], found["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExternalError(
            f"{note} is damaged", hint="Remove it, and the folder beside."
        ) from error
