"""The console over the flights, view by view, and the shell where there is tmux: as the pictures of
the documentation are taken. They are kept in build/console/flights.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts.pictures import take_all

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

SHOTS = Path(__file__).parent.parent.parent / "build" / "console" / "flights"
VIEWS = ("graph", "editor", "errors", "changes")


def test_every_view_over_the_flights() -> None:
    shell = shutil.which("tmux") is not None
    shutil.rmtree(SHOTS, ignore_errors=True)
    take_all(SHOTS, shell=shell)
    sizes = {path.name: path.stat().st_size for path in SHOTS.iterdir()}
    assert set(sizes) == {*(f"console-{view}.png" for view in VIEWS), *["shell.svg"] * shell}
    assert min(sizes.values()) > 10_000, "none is blank"
