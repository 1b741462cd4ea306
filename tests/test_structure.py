"""What holds of the code's structure as a whole; ARCHITECTURE.md says why.

Layers and circles are import-linter's business (pyproject.toml).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streamsql"
DBT = ROOT / "dbt"

SLOW = {
    "confluent_kafka": "librdkafka; nothing that only reads SQL needs it",
    "duckdb": "optional; only where PostgreSQL's catalog is asked",
    "fastavro": "only where a topic or a schema is Avro",
    "google": "Protobuf's descriptors; only where a topic or a schema is Protobuf",
    "granian": "the server's",
    "httpx2": "slow to import; for other servers and services",
    "lark": "the parser; the prompt is there before it",
    "pandas": "optional",
    "platformdirs": "slow for what it does; only where a default folder is asked for",
    "prompt_toolkit": "the shell's prompt",
    "py4j": "Spark's",
    "pyarrow": "columns of files and results",
    "pyspark": "Spark; an engine answers before it is there",
    "rich": "progress of the engine's commands",
    "sqlglot": "the language; the prompt is there before it",
    "starlette": "the server's",
    "wcwidth": "widths of characters; only where a cell is not ASCII",
}
"""Libraries that may be imported inside functions, and so may be our modules that load one of them:
what is slow to import, or optional."""
OPTIONAL = {
    "getpass": "only where a password is asked for",
    "importlib.metadata": "only for --version",
    "pyspark.sql.pandas.types": "needs pandas",
    "ssl": "only for https",
    "streamsql.cli.execution.postgres": "the engine's; streamsql-client lacks it",
    "traceback": "only with --debug",
}
"""What few runs need and all would wait for."""

INDENTED_IMPORT = re.compile(r"^\s+(import|from) ", re.MULTILINE)


def modules() -> dict[str, Path]:
    """All modules of the package by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    for folder in ("cli", "grammar"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(("streamsql", *path.relative_to(ROOT).with_suffix("").parts))
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and module of the imports among some nodes; `from package import module` names that."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.lineno, name if name in MODULES else node.module


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


@cache
def at_once(module: str) -> frozenset[str]:
    """What a module imports when it is imported itself: its packages, and what its top names."""
    named = {target for _, target in imported(tree_of(module).body)}
    return frozenset(named | {module.rpartition(".")[0]} - {"", module})


@cache
def slow_of(module: str) -> frozenset[str]:
    """The slow libraries that importing a module loads at once."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += at_once(name) if name in MODULES else [name.partition(".")[0]]
    return SLOW.keys() & found


def functions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_only_what_is_slow_or_optional_is_imported_inside_functions() -> None:
    wrong = []
    for module, path in MODULES.items():
        if not INDENTED_IMPORT.search(path.read_text("utf-8")):
            continue
        here = slow_of(module)
        for function in functions(module):
            for line, target in imported(ast.walk(function)):
                if not slow_of(target) - here and target not in OPTIONAL:
                    wrong.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert not wrong, "these load nothing slow that is not there already: import them at the top"


def test_no_package_is_more_than_a_quarter_of_the_code() -> None:
    lines: Counter[str] = Counter()
    for path in [*MODULES.values(), *java_sources()]:
        parts = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).parts
        # The Java part has packages of its own: jvm/io/streamsql/sinks.
        package = "/".join(parts[:4]) if path.suffix == ".java" else parts[0]
        lines[package] += len(path.read_text("utf-8").splitlines())
    whole = sum(lines.values())
    assert not {name: count for name, count in lines.items() if count > whole / 4}


def java_sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.java"))


BRIDGE = {"bridge.py", "gateway.py", "jvm.py", "views.py"}
"""In executor/spark: the bridge, the process behind it, and what lowering builds frames with."""


def test_only_the_bridge_and_what_builds_frames_reach_the_jvm() -> None:
    found = {
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\._jvm\b|\._gateway\b", path.read_text("utf-8"))
    }
    assert found == {Path("executor/spark") / name for name in BRIDGE}
