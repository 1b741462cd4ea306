"""The wheels as users install them: the client in a fresh environment of each Python, over a real
server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from terminal import PROMPT_SECONDS, Terminal

from streamsql.jvm.build import package_runtime_jar

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]
ROOT = Path(__file__).parent.parent.parent
MEGABYTES = 30
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
DEFINITIONS = """
CREATE STREAM clicks_VERSION (who VARCHAR KEY, page VARCHAR)
  WITH (kafka_topic='clicks_VERSION', partitions=1, value_format='JSON');
CREATE TABLE visits_VERSION AS SELECT who, COUNT(*) AS n FROM clicks_VERSION GROUP BY who;
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    package_runtime_jar()
    built = (*PIP, "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), "./client", ".")
    subprocess.run(built, cwd=ROOT, check=True)
    return folder


def contents(wheels: Path, name: str) -> set[str]:
    (path,) = wheels.glob(f"{name}-*.whl")
    return set(zipfile.ZipFile(path).namelist())


def test_the_wheels_share_no_file(wheels: Path) -> None:
    engine, client = contents(wheels, "streamsql"), contents(wheels, "streamsql_client")
    assert engine & client == set()
    assert {"streamsql/jvm/streamsql-jvm.jar", "benchmarks/__init__.py"} <= engine
    assert {"streamsql/py.typed", "streamsql/grammar/streamsql.lark"} <= client
    assert [name for name in engine | client if name.endswith((".java", ".pyc"))] == []
    tracked = subprocess.run(
        ["git", "ls-files", "streamsql", "cli", "grammar", "benchmarks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    inside = {f"streamsql/{n}" if n.startswith(("cli/", "grammar/")) else n for n in tracked}
    links = {"streamsql/cli", "streamsql/grammar"}
    assert {n for n in inside if not n.endswith(".java")} - links <= engine | client


def interpreter(version: str) -> str:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    found = shutil.which(f"python{version}", path=os.environ["PATH"].replace(str(pyenv), ""))
    if kept or found:
        return str(kept[-1] if kept else found)
    pytest.skip(f"there is no Python {version}")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_client_alone(
    wheels: Path, server: str, tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tmp_path / "environment"
    subprocess.run([interpreter(version), "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    (wheel,) = wheels.glob("streamsql_client-*.whl")
    empty = _bytes(environment)
    subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "install", "-q", str(wheel)],
        check=True,
    )
    size = _bytes(environment) - empty
    assert size < MEGABYTES << 20, f"{size / (1 << 20):.1f} MB"

    file = tmp_path / "pipeline.sql"
    file.write_text(DEFINITIONS.replace("VERSION", version.replace(".", "_")))
    # Without Java: an empty PATH.
    command = [str(environment / "bin" / "streamsql")]

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={"PATH": "", "HOME": str(tmp_path)},
        )

    checked = run("check", str(file))
    assert checked.returncode == 0 and "2 statements, no errors" in checked.stdout, checked.stderr
    planned = run("plan", "--server", server, str(file))
    assert planned.returncode == 2 and "visits" in planned.stdout.lower(), planned.stderr
    applied = run("apply", "--server", server, "--yes", str(file))
    assert applied.returncode == 0, applied.stderr
    asked = run("connect", server, "-e", "DEFINE a = 'x';", "-e", "SHOW VARIABLES;")
    assert asked.returncode == 0 and "x" in asked.stdout, asked.stderr
    local = run("-e", "SHOW STREAMS;")
    assert local.returncode == 1 and "pip install streamsql" in local.stderr

    monkeypatch.chdir(tmp_path)  # `-m` would find the repository.
    shell = Terminal(["connect", server], python)
    shell.see(f"connected to {server}", PROMPT_SECONDS)
    shell.enter("SHOW QUERIES;")
    shell.see(f"CTAS_VISITS_{version.replace('.', '_')}")
    shell.enter("exit")
    assert shell.end(30.0) == 0


def _bytes(folder: Path) -> int:
    """The size of the files, compiled modules included."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
