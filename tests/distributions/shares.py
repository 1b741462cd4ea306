"""The modules that each distribution holds, as its pyproject.toml lists them."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "streamsql"
_GENERATED = shutil.ignore_patterns("__pycache__", "*.java", "*.jar")


def project(folder: str = ".") -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def wheel(folder: str = ".") -> dict[str, Any]:
    found: dict[str, Any] = project(folder)["tool"]["hatch"]["build"]["targets"]["wheel"]
    return found


def client_share() -> list[str]:
    """Files and folders, relative to `streamsql`."""
    return list(wheel("client")["hooks"]["custom"]["modules"])


def engine_share() -> list[str]:
    listed = wheel()["only-include"]
    return [name.removeprefix("streamsql/") for name in listed if name.startswith("streamsql/")]


def copy_client(target: Path) -> Path:
    """The client as its wheel installs it, below `target`."""
    for name in client_share():
        source, copy = PACKAGE / name, target / "streamsql" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=_GENERATED)
        else:
            shutil.copy(source, copy)
    return target
