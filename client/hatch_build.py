"""Adds the modules of the client, which are a part of ../streamsql, to its wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModulesHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # `dev-mode-dirs` is the whole repository.
        package = Path(self.root).parent / "streamsql"
        build_data["force_include"] |= {
            str((package / name).resolve()): f"streamsql/{name}" for name in self.config["modules"]
        }
