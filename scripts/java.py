"""Checks, formats and tests the JVM part: scripts/java.py lint | fmt | test [JUnit's options].

The tools are jars of the lock file, fetched when they are first needed. What was found clean, or
compiled, is remembered by the hash of its sources.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from streamsql.errors import StreamSQLError, render
from streamsql.jvm.build import (
    SOURCES,
    build_jar,
    compile_class_path,
    compiler,
    ensure_runtime_jar,
)
from streamsql.jvm.cache import cache_dir
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.java import find_java
from streamsql.jvm.lock import locked_jars
from streamsql.jvm.sources import hash_of_sources, java_sources

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests" / "jvm" / "java"

_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# Both tools are built upon the compiler's own classes.
_EXPORTED = ("api", "code", "file", "main", "model", "parser", "processing", "tree", "util")
_COMPILER = tuple(
    [f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED" for part in _EXPORTED]
    + [
        f"--add-opens=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED"
        for part in ("code", "comp")
    ]
)

# `a && b || c` is known to everybody.
_ERROR_PRONE = "-Xplugin:ErrorProne -Xep:OperatorPrecedence:OFF"

# What Spark opens to itself where it is started by its own scripts.
_OPENED = ("java.nio", "java.lang", "java.util", "sun.nio.ch")
_SPARK = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED)


def lint() -> int:
    """Whether Error Prone, the compiler's own lint and the formatter find nothing."""
    clean = cache_dir() / "jvm" / f"lint-{_state()}.clean"
    if clean.is_file():
        return 0
    sources = _all_sources()
    with tempfile.TemporaryDirectory() as folder:
        class_path = [*map(str, ensure_jars("java-test")), *compile_class_path()]
        command = compiler(class_path, Path(folder))
        command += [f"-J{option}" for option in _COMPILER]
        command += ["-XDcompilePolicy=simple", "--should-stop=ifError=FLOW"]
        command += ["-processorpath", _path(ensure_jars("java-lint")), _ERROR_PRONE]
        with subprocess.Popen([*command, *sources], cwd=ROOT) as compilation:
            formatted = _formatter("--dry-run", "--set-exit-if-changed", *sources)
    if formatted:
        print("The files above are not formatted: make fmt", file=sys.stderr)
    if compilation.returncode or formatted:
        return 1
    clean.parent.mkdir(parents=True, exist_ok=True)
    clean.touch()
    return 0


def fmt() -> int:
    """Write every source as google-java-format has it."""
    return _formatter("--replace", *_all_sources())


def test(options: Sequence[str]) -> int:
    """Run the JUnit tests, all of them or those that the options name."""
    junit = ensure_jars("java-test")
    ours = ensure_runtime_jar()
    # Of both: a test is compiled against what it tests.
    name = f"streamsql-jvm-tests-{hash_of_sources(TESTS)}-{hash_of_sources(SOURCES)}.jar"
    tests = cache_dir() / "jvm" / name
    if not tests.is_file():
        build_jar(TESTS, tests, further=[ours, *junit])
    command = [str(find_java().program), *_QUICK, *_SPARK]
    command += ["-Xmx1g", "-ea", "-XX:+ErrorFileToStderr"]
    command += [
        "-cp",
        os.pathsep.join([str(tests), str(ours), _path(junit), *compile_class_path()]),
    ]
    command += ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner"]
    command += ["--details=summary", "--fail-if-no-tests"]
    command += options or [f"--scan-classpath={tests}"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _formatter(*arguments: str) -> int:
    options = [option for option in _COMPILER if "exports" in option]
    command = [str(find_java().program), *_QUICK, *options, "-cp", _path(ensure_jars("java-lint"))]
    command += ["com.google.googlejavaformat.java.Main", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _all_sources() -> list[str]:
    found = [*java_sources(SOURCES), *java_sources(TESTS)]
    return [str(source.relative_to(ROOT)) for source in found]


def _path(found: Sequence[Path]) -> str:
    return os.pathsep.join(map(str, found))


def _state() -> str:
    """Changes with whatever the outcome of `lint` depends on."""
    parts = [hash_of_sources(SOURCES), hash_of_sources(TESTS), Path(__file__).read_text("utf-8")]
    parts += [
        jar.sha256 for group in ("spark", "java-lint", "java-test") for jar in locked_jars(group)
    ]
    parts.append(str(find_java().version))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def main(arguments: Sequence[str]) -> int:
    try:
        match arguments:
            case ["lint"]:
                return lint()
            case ["fmt"]:
                return fmt()
            case ["test", *options]:
                return test(options)
        print(__doc__, file=sys.stderr)
        return 2
    except StreamSQLError as error:
        print(render(error), file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
