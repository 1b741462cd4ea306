"""Lets no wheel be built whose jar is missing or older than its Java sources.

The jar is built by `make wheel` in the development environment: compiling it here would make
PySpark, 450 MB, a requirement of the build.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JvmPartHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # A checkout builds the jar when it needs it.
        package = Path(self.root) / "streamsql"
        folder = package / "jvm"
        sources = _load(folder / "sources.py")
        jar = folder / "streamsql-jvm.jar"
        if sources.hash_in_jar(jar) != sources.hash_of_sources(folder):
            self.app.abort(
                f"{jar.relative_to(self.root)} is missing or older than the Java sources: "
                "build the wheel with `make wheel`, or install a checkout with `make setup`"
            )


def _load(path: Path) -> ModuleType:
    """One file of the package, without importing the package and all that it requires."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
