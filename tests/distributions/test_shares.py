"""streamsql and streamsql-client are parts of one package: no file is in both, and the client needs
neither the engine's modules nor its libraries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from distributions.shares import PACKAGE, client_share, copy_client, engine_share, project

ENGINE_LIBRARIES = (
    "argon2 confluent_kafka duckdb fastavro google granian "
    "httpx2 pandas psutil py4j pyarrow pyspark rich starlette"
)
"""None of them is a dependency of the client."""
OPTIONAL = {
    "streamsql.client.arrow": "pyarrow",
    "streamsql.formats.avro_json": "fastavro",
    **{
        f"streamsql.formats.proto_{name}": "google"
        for name in "literals options parser printer".split()
    },
    **{f"streamsql.formats.protobuf_{name}": "google" for name in "json schema".split()},
}
"""Those of the extras, and of the engine's own libraries."""
IMPORT_ALL = """
import json, pkgutil, streamsql
from importlib import import_module
failed = {}
for found in pkgutil.walk_packages(streamsql.__path__, "streamsql."):
    try:
        import_module(found.name)
    except ModuleNotFoundError as error:
        failed[found.name] = error.name
print(json.dumps(failed))
"""
ABSENT = """
import sys
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent)
"""
COMMAND = "import sys; from streamsql.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client alone, in which the engine's libraries cannot be imported."""
    folder = copy_client(tmp_path_factory.mktemp("client"))
    (folder / "sitecustomize.py").write_text(
        ABSENT.format(names=ENGINE_LIBRARIES.split())
        +
        # The repository, which an editable installation adds.
        f"sys.path[:] = [p for p in sys.path if p != {str(PACKAGE.parent)!r}]\n"
    )
    return folder


def python(folder: Path, program: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )


def test_each_file_is_in_one_distribution() -> None:
    def holders(path: Path) -> list[str]:
        names = {str(path), *map(str, path.parents)}
        return [n for n in (*client_share(), *engine_share()) if n in names]

    files = [
        Path(folder, name).relative_to(PACKAGE)
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if "__pycache__" not in folder and not name.endswith((".java", ".jar"))
    ]
    assert {str(path): found for path in files if len(found := holders(path)) != 1} == {}
    assert [n for n in (*client_share(), *engine_share()) if not (PACKAGE / n).exists()] == []


def test_the_client_imports_nothing_of_the_engine(alone: Path) -> None:
    done = python(alone, IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout)
    commands = {name for name in failed if name.startswith("streamsql.cli.")}
    assert {name: failed[name] for name in failed if name not in commands} == OPTIONAL
    # Commands of the engine: each names one of its modules.
    assert {name for name in commands if not failed[name].startswith("streamsql.")} == set()


def test_check_runs_in_the_client(alone: Path, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.sql"
    file.write_text("CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON');")
    done = python(alone, COMMAND, "check", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "1 statement, no errors" in done.stdout


def test_a_schema_of_a_registry_needs_an_extra(alone: Path, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.sql"
    file.write_text(
        "SET 'ksql.schema.registry.url' = 'http://localhost:1';\n"
        "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');"
    )
    done = python(alone, COMMAND, "check", str(file))
    assert done.returncode == 1
    assert "confluent_kafka is not installed" in done.stderr
    assert "pip install 'streamsql-client[registry]'" in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["-e", "SHOW STREAMS;"],
        ["run", "pipeline.sql"],
        ["server"],
        ["apply", "pipeline.sql"],
        ["plan", "pipeline.sql"],
        ["kafka", "status"],
        ["load", "trips.csv", "--topic", "trips"],
        ["test", "."],
    ],
    ids=lambda args: args[0],
)
def test_a_command_of_the_engine_says_what_to_install(alone: Path, args: list[str]) -> None:
    (alone / "pipeline.sql").write_text("SHOW STREAMS;")
    done = python(alone, COMMAND, *args)
    assert done.returncode == 1, done.stderr
    assert "the engine is not installed" in done.stderr
    assert "pip install streamsql" in done.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import streamsql; streamsql.connect()", "ConfigError: the engine is not installed"),
        (
            "from streamsql import Engine",
            "ImportError: the engine is not installed. Install the engine: pip install streamsql",
        ),
        (
            "from streamsql.client.result import QueryResult\nQueryResult(iter(())).arrow()",
            "ConfigError: pyarrow is not installed",
        ),
    ],
    ids=("connect", "Engine", "arrow"),
)
def test_the_api_says_what_to_install(alone: Path, program: str, message: str) -> None:
    assert message in python(alone, program).stderr


def test_the_distributions_have_one_version() -> None:
    engine, client, dbt = (project(folder)["project"] for folder in (".", "client", "dbt"))
    assert client["version"] == dbt["version"] == engine["version"]
    assert f"streamsql-client=={engine['version']}" in engine["dependencies"]


def test_no_dependency_is_declared_twice() -> None:
    names = [
        {re.split(r"[^\w-]", each)[0] for each in project(folder)["project"]["dependencies"]}
        for folder in (".", "client")
    ]
    assert names[0] & names[1] == set()
