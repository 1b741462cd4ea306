"""The sqllogictest files of tests/slt, each in a session of standard SQL on one engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FOLDER = Path(__file__).parents[1] / "slt"


def test_the_files_pass() -> None:
    """In a process of its own, as their engine has its own Spark."""
    command = [sys.executable, "-m", "streamsql.cli.main", "test", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(list(FOLDER.glob('*.slt')))} passed" in done.stdout
