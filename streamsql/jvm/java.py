"""Finds the Java that Spark, Kafka and the build run on, and says how to install one."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamsql.errors import ConfigError, ExternalError

MINIMUM_VERSION = 17

OPTIMIZED_LATE = (
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=12000",
    "-XX:Tier4CompileThreshold=300000",
    "-XX:Tier4BackEdgeThreshold=800000",
)
"""The second compiler compiles methods after twenty times as many calls as by default: per-record
code, but little of the startup."""


@dataclass(frozen=True)
class Java:
    """A Java of a version that will do: its `java` program and the folder it belongs to."""

    home: Path
    program: Path
    version: int

    @property
    def javac(self) -> Path:
        """The compiler of the same JDK; ExternalError where only a runtime is installed."""
        compiler = self.home / "bin" / "javac"
        if compiler.exists():
            return compiler
        raise ExternalError(
            f"the Java in {self.home} has no compiler (javac)",
            detail="A source checkout of streamsql builds its JVM part once; a wheel ships it.",
            hint=install_hint(),
        )


def inherited_environment() -> dict[str, str]:
    """The environment for a JVM: that of this process, without the settings of another Spark. While
    Spark starts in another thread, the variables change."""
    while True:
        with suppress(KeyError):  # a variable has been removed meanwhile
            inherited = dict(os.environ)
            break
    return {k: v for k, v in inherited.items() if not k.startswith(("SPARK_", "PYSPARK_"))}


def install_hint() -> str:
    """The command that installs a JDK on this system."""
    if sys.platform == "darwin":
        return "Install it with: brew install openjdk@17"
    if shutil.which("apt-get"):
        return "Install it with: apt-get install openjdk-17-jdk-headless"
    if shutil.which("dnf"):
        return "Install it with: dnf install java-17-openjdk-devel"
    return f"Install a JDK {MINIMUM_VERSION} or newer and set JAVA_HOME to its folder."


def find_java() -> Java:
    """Java of JAVA_HOME, otherwise of the PATH. ExternalError if missing, ConfigError if it is too
    old or JAVA_HOME is invalid."""
    return _find(os.environ.get("JAVA_HOME") or None, os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _find(java_home: str | None, path: str) -> Java:
    if java_home is not None:
        program = Path(java_home) / "bin" / "java"
        if not program.exists():
            raise ConfigError(
                f"JAVA_HOME is {java_home}, but bin/java does not exist in it",
                hint="Unset JAVA_HOME, or set it to the folder of a JDK 17 or newer.",
            )
    else:
        found = shutil.which("java", path=path)
        if found is None:
            raise ExternalError(
                f"no Java found: streamsql needs Java {MINIMUM_VERSION} or newer",
                hint=install_hint(),
            )
        program = Path(found)
    home = program.resolve().parent.parent
    version = _release_version(home) or _asked_version(program)
    if version < MINIMUM_VERSION:
        raise ConfigError(
            f"the Java at {program} is version {version}: "
            f"streamsql needs {MINIMUM_VERSION} or newer",
            hint=f"{install_hint()} Or set JAVA_HOME to a newer one.",
        )
    return Java(home, program, version)


def _release_version(home: Path) -> int | None:
    """The version of the JDK's `release` file, which costs no start of a JVM."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    return _major(match.group(1)) if match else None


def _asked_version(program: Path) -> int:
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExternalError(f"cannot run {program}: {error}", hint=install_hint()) from error
    match = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    if done.returncode != 0 or match is None:
        # The `java` that macOS ships without a JDK only asks to install one.
        raise ExternalError(
            f"{program} is not a working Java: streamsql needs Java {MINIMUM_VERSION} or newer",
            hint=install_hint(),
        )
    return _major(match.group(1))


def _major(version: str) -> int:
    """`17.0.15` is 17, `1.8.0_402` is 8, `25-ea` is 25."""
    numbers = [int(n) for n in re.findall(r"\d+", version)] or [0]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
