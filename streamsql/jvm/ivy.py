"""Fetches jars by the Ivy that PySpark carries; which jars, and their checksums, is jars.py."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
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
    command = _command(target, module)
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
    missing = [jar for jar in jars if not (target / jar.path).is_file()]
    if missing:
        raise _failure(missing, log)


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


def _command(target: Path, module: Path) -> list[str]:
    ivy_jars = sorted(pyspark_jars_dir().glob("ivy-[0-9]*.jar"))
    if not ivy_jars:
        raise ExternalError(f"no ivy jar in {pyspark_jars_dir()}")
    command = [str(find_java().program), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-jar", str(ivy_jars[-1])]
    command += ["-settings", str(_settings(target)), "-ivy", str(module)]
    command += ["-m2compatible", "-notransitive", "-types", "jar", "bundle"]
    # An Ivy cache of its own: a shared one may hold a half-written or a foreign file.
    command += ["-cache", str(target / "ivy-cache")]
    command += ["-retrieve", str(target / "[organisation]" / "[artifact]-[revision].jar")]
    return command


def _settings(target: Path) -> Path:
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
    default.write_text(_DEFAULT_SETTINGS, encoding="utf-8")
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
        hint="The jars are fetched once, from Maven Central: connect to the network and try "
        f"again, or name a mirror by an ivysettings.xml in {SETTINGS_VARIABLE}.",
    )
