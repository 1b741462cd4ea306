"""Provides streamsql's own jar: the one in the wheel, or one built from the checkout's sources.

A build happens once per change of the sources and lies in the cache folder. PySpark's jars and
the connector's are the class path, so nothing but a JDK is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from streamsql.errors import InternalError
from streamsql.jvm.cache import cache_dir, exclusive
from streamsql.jvm.ivy import pyspark_jars_dir
from streamsql.jvm.jars import Progress, ensure_jars
from streamsql.jvm.java import MINIMUM_VERSION, find_java
from streamsql.jvm.sources import HASH_ENTRY, hash_in_jar, hash_of_sources, java_sources

SOURCES = Path(__file__).parent
PACKAGED_JAR = SOURCES / "streamsql-jvm.jar"

_ENVIRONMENT_NOTE = re.compile(r"^Picked up \w+: .*\n", re.MULTILINE)
"""First output line of a JVM with options in its environment."""


def ensure_runtime_jar(progress: Progress | None = None) -> Path:
    """The jar of the packages `io.streamsql.*`, built first if the sources have changed.

    `progress` is that of `ensure_jars`. Raises ExternalError without a compiler, InternalError
    where the sources do not compile.
    """
    if not java_sources(SOURCES):
        if PACKAGED_JAR.is_file():
            return PACKAGED_JAR
        raise InternalError(f"{PACKAGED_JAR} is missing from this installation")
    wanted = hash_of_sources(SOURCES)
    if PACKAGED_JAR.is_file() and hash_in_jar(PACKAGED_JAR) == wanted:
        return PACKAGED_JAR
    folder = cache_dir() / "jvm"
    jar = folder / f"streamsql-jvm-{wanted}.jar"
    if not jar.is_file():
        with exclusive(folder / ".lock"):
            if not jar.is_file():
                build_jar(SOURCES, jar, progress)
    return jar


def package_runtime_jar() -> Path:
    """Put the jar where a wheel takes it from; called by `make wheel`."""
    built = ensure_runtime_jar()
    if built != PACKAGED_JAR:
        shutil.copyfile(built, PACKAGED_JAR)
    return PACKAGED_JAR


def build_jar(
    sources: Path,
    jar: Path,
    progress: Progress | None = None,
    further: Sequence[Path] = (),
) -> None:
    """Compile all sources below a folder into `jar`, which appears complete or not at all.

    `further` jars stand before Spark's in the class path.
    """
    class_path = [*map(str, further), *compile_class_path(progress)]
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=jar.parent) as temporary:
        classes = Path(temporary) / "classes"
        # Copied first, so that the hash and the classes are of the same text.
        copy = Path(temporary) / "sources"
        for source in java_sources(sources):
            target = copy / source.relative_to(sources)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        command = compiler(class_path, classes) + [str(source) for source in java_sources(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            output = _ENVIRONMENT_NOTE.sub("", done.stderr).replace(f"{copy}{os.sep}", "")
            raise InternalError("the JVM part does not compile", detail=output.strip())
        complete = Path(temporary) / jar.name
        _pack(classes, complete, hash_of_sources(copy))
        os.replace(complete, jar)


def compile_class_path(progress: Progress | None = None) -> list[str]:
    """Class path of our sources: the connector's jars, PySpark's, and Iceberg's behind them."""
    jars = ensure_jars("spark", progress)
    further = ensure_jars("iceberg", progress)
    return [*map(str, jars), str(pyspark_jars_dir() / "*"), *map(str, further)]


def compiler(class_path: Sequence[str], classes: Path) -> list[str]:
    """The command that compiles sources into a folder."""
    java = find_java()
    command = [str(java.javac), "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"]
    command += ["-proc:none", "--release", str(MINIMUM_VERSION), "-encoding", "UTF-8"]
    # Not `path`: the manifests of Spark's jars name others that are nowhere.
    command += ["-Xlint:all,-path", "-Xmaxwarns", "1000"]
    if java.version == MINIMUM_VERSION:
        command.append("-Werror")  # a later compiler warns of more
    return [*command, "-cp", os.pathsep.join(class_path), "-d", str(classes)]


def _pack(classes: Path, jar: Path, source_hash: str) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n")
        archive.writestr(HASH_ENTRY, source_hash)
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, path.relative_to(classes).as_posix())
