"""The tests of the JVM part in Java, which need no Spark session: tests/jvm/java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "java.py"


@pytest.mark.spark
def test_the_tests_in_java_pass() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "test"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
