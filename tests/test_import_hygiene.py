"""What may be loaded by what: start-up time and the layers both hang on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import streamsql

HEAVY = ("pyspark", "py4j", "confluent_kafka", "pyarrow", "pandas")


LIGHT = (
    "streamsql",
    "streamsql.parser",
    "streamsql.planner",
    "streamsql.catalog",
    "streamsql.functions",
    "streamsql.formats",
    "streamsql.pipelines",
    "streamsql.api.catalogs",
    "streamsql.api.changing",
    "streamsql.api.checking",
    "streamsql.api.completion",
    "streamsql.api.facts",
    "streamsql.api.language",
    "streamsql.api.script",
    "streamsql.client.connection",
    "streamsql.client.remote",
    "streamsql.client.received",
    "streamsql.cli.main",
    "streamsql.cli.subcommands.apply",
    "streamsql.cli.subcommands.connect",
    "streamsql.cli.subcommands.plan",
    "streamsql.cli.shell.prompt",
)


def test_light_modules_load_nothing_heavy() -> None:
    program = (
        "import sys\nfrom importlib import import_module\n"
        f"for module in {LIGHT!r}:\n"
        "    import_module(module)\n"
        f"    loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    assert not loaded, f'{module} loads {loaded}'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert done.returncode == 0, done.stdout


def test_the_prompt_does_not_wait_for_the_language() -> None:
    program = (
        "import sys, streamsql.cli.subcommands.connect\n"
        "import streamsql.cli.shell.prompt, streamsql.cli.shell.shell\n"
        "print([n for n in ('sqlglot', 'lark', 'streamsql.parser', 'rich') if n in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_no_module_hides_a_public_name() -> None:
    """Importing `streamsql.x` makes the module the package's `x`, whatever that was."""
    hidden = [name for name in streamsql.__all__ if find_spec(f"streamsql.{name}") is not None]
    assert hidden == []


def test_the_package_needs_nothing_beside_it(tmp_path: Path) -> None:
    """As a wheel installs it: `streamsql` alone, with the command line and the grammar in it."""
    package = Path(__file__).parent.parent / "streamsql"
    hidden = shutil.ignore_patterns("__pycache__", "*.java", "*.jar")
    shutil.copytree(package, tmp_path / "streamsql", ignore=hidden)
    file = tmp_path / "pipeline.sql"
    file.write_text("CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON');")
    program = (
        "import os, sys\n"
        "elsewhere = [p for p in sys.path if not os.path.isdir(os.path.join(p, 'grammar'))]\n"
        f"sys.path[:] = [{str(tmp_path)!r}, *elsewhere]\n"
        "from streamsql.cli.main import main\n"
        f"sys.exit(main(['check', {str(file)!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr
