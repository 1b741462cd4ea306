"""The sqllogictest files of tests/slt, each in a session of standard SQL on one engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FOLDER = Path(__file__).parents[1] / "slt"
EVERYDAY = ("aggregates", "plain_tables", "rows", "sets", "views")
"""Most others are hundreds of expressions, of which Spark plans and compiles each by itself."""
OTHERS = sorted(path.stem for path in FOLDER.glob("*.slt") if path.stem not in EVERYDAY)


@pytest.mark.parametrize(
    "names", [EVERYDAY, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["everyday", "others"]
)
def test_the_files_pass(names: Sequence[str]) -> None:
    """In a process of its own, as their engine has its own Spark."""
    files = [str(FOLDER / f"{name}.slt") for name in names]
    command = [sys.executable, "-m", "streamsql.cli.main", "test", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(files)} passed" in done.stdout
