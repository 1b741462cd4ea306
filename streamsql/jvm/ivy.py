"""Fetches jars by the Ivy that PySpark carries; which jars, and their checksums, is jars.py."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from streamsql.errors import ConfigError, ExternalError
from streamsql.jvm.java import find_java
from streamsql.jvm.lock import Jar

SETTINGS_VARIABLE = "STREAMSQL_IVY_SETTINGS"

# Without POMs and checksum files one request per jar is enough: 7 s for the broker's 45 jars
# instead of 45 s. The lock file's SHA-256 replaces both.
_DEFAULT_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" checksums=""/>
  </resolvers>
</ivysettings>
"""


# POMs name what an artifact needs, and only the repository's checksum files verify it.
_RESOLVING_SETTINGS = _DEFAULT_SETTINGS.replace('usepoms="false" checksums=""', "")


_REPOSITORY_HINT = (
    "{} from Maven Central: connect to the network and try again, or name a mirror by an "
    f"ivysettings.xml in {SETTINGS_VARIABLE}."
)


def pyspark_jars_dir() -> Path:
    """The folder of PySpark's own jars; found without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    for location in (spec.submodule_search_locations or []) if spec else []:
        if (jars := Path(location) / "jars").is_dir():
            return jars
    raise ExternalError("PySpark is not installed", hint="Install it with: pip install streamsql")


def fetch(jars: Sequence[Jar], target: Path, downloaded: Callable[[str], None]) -> None:
    """Downloads `jars` into `target`, each to its `path`; `downloaded` is called with each
    artifact's name. Uses the user's ivysettings. ExternalError names unavailable jars."""
    module = target / "ivy.xml"
    module.write_text(_module(jars), encoding="utf-8")
    command = [*_command(target, module, _DEFAULT_SETTINGS), "-notransitive"]
    command += ["-retrieve", str(target / "[organisation]" / "[artifact]-[revision].jar")]
    log, _ = _run(command, downloaded)
    missing = [jar for jar in jars if not (target / jar.path).is_file()]
    if missing:
        raise _failure(missing, log)


def resolve(
    coordinates: str,
    without: Sequence[tuple[str, str]],
    target: Path,
    downloaded: Callable[[str], None],
) -> list[Path]:
    """Downloads an artifact and what it needs at run time into `target`, and returns the jars;
    `without`: organisations and artifacts that are left out. Uses the user's ivysettings.
    ExternalError says what is unavailable."""
    with tempfile.TemporaryDirectory(prefix="resolve-", dir=target.parent) as temporary:
        module = Path(temporary) / "ivy.xml"
        module.write_text(_resolving_module(coordinates, without), encoding="utf-8")
        command = _command(Path(temporary), module, _RESOLVING_SETTINGS)
        pattern = "[artifact]-[revision](-[classifier]).jar"
        log, code = _run(
            [*command, "-retrieve", str(target / "[organisation]" / pattern)], downloaded
        )
    if code != 0:
        causes = [line.strip() for line in log if re.search(r"not found|FAILED|ERROR|error", line)]
        raise ExternalError(
            f"cannot fetch {coordinates}",
            retryable=True,
            detail="\n".join(dict.fromkeys(causes[:5])) or None,
            hint=_REPOSITORY_HINT.format("The artifact comes"),
        )
    return sorted(target.rglob("*.jar"))


def _run(command: Sequence[str], downloaded: Callable[[str], None]) -> tuple[list[str], int]:
    """Ivy's output and exit code."""
    log: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.append(line.rstrip())
            if match := re.search(r"\[SUCCESSFUL \] \S+!(\S+)\.\w+ ", line):
                downloaded(match.group(1))
    return log, process.returncode


def _module(jars: Sequence[Jar]) -> str:
    lines = [
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.artifact)}"
        f' rev={quoteattr(jar.version)} transitive="false"/>'
        for jar in jars
    ]
    return (
        '<ivy-module version="2.0"><info organisation="streamsql" module="jars"/>\n'
        "<dependencies>\n" + "\n".join(lines) + "\n</dependencies></ivy-module>\n"
    )


def _resolving_module(coordinates: str, without: Sequence[tuple[str, str]]) -> str:
    organisation, artifact, version = map(quoteattr, coordinates.split(":"))
    excluded = [
        f"<exclude org={quoteattr(of)} module={quoteattr(name)}/>"
        for of, name in without
        if f"{of}:{name}" != coordinates.rpartition(":")[0]
    ]
    return (
        '<ivy-module version="2.0"><info organisation="streamsql" module="plugin"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies><dependency org={organisation} name={artifact} rev={version}"
        ' conf="default->default"/>\n' + "\n".join(excluded) + "\n</dependencies></ivy-module>\n"
    )


def _command(target: Path, module: Path, default_settings: str) -> list[str]:
    ivy_jars = sorted(pyspark_jars_dir().glob("ivy-[0-9]*.jar"))
    if not ivy_jars:
        raise ExternalError(f"no ivy jar in {pyspark_jars_dir()}")
    command = [str(find_java().program), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-jar", str(ivy_jars[-1])]
    command += ["-settings", str(_settings(target, default_settings)), "-ivy", str(module)]
    command += ["-m2compatible", "-types", "jar", "bundle"]
    # An Ivy cache of its own: a shared one may hold a half-written or a foreign file.
    command += ["-cache", str(target / "ivy-cache")]
    return command


def _settings(target: Path, default_settings: str) -> Path:
    chosen = os.environ.get(SETTINGS_VARIABLE)
    if chosen:
        path = Path(chosen).expanduser()
        if not path.is_file():
            raise ConfigError(f"{SETTINGS_VARIABLE} names {path}, which is not a file")
        return path
    own = Path.home() / ".ivy2" / "ivysettings.xml"
    if own.is_file():
        return own
    default = target / "ivysettings.xml"
    default.write_text(default_settings, encoding="utf-8")
    return default


def _failure(missing: Sequence[Jar], log: Sequence[str]) -> ExternalError:
    # If one is unavailable, Ivy retrieves none: report those that it names.
    complaints = "\n".join(line for line in log if "not found" in line or "FAILED" in line)
    blamed = [
        jar for jar in missing if f"{jar.organisation}#{jar.artifact};{jar.version}" in complaints
    ] or list(missing)
    names = ", ".join(jar.coordinates for jar in blamed[:3])
    more = f" and {len(blamed) - 3} more" if len(blamed) > 3 else ""
    causes = [line.strip() for line in log if re.search(r"access error|ERROR|Exception", line)]
    return ExternalError(
        f"cannot fetch {names}{more}",
        retryable=True,
        detail="\n".join(causes[:3]) or None,
        hint=_REPOSITORY_HINT.format("The jars are fetched once,"),
    )
