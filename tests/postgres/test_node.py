"""node-postgres (`pg`, `pg-cursor`), where Node has it: `npm install -g pg pg-cursor`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from postgres.stand_in import StandInListener

SCRIPT = Path(__file__).with_name("client.js")
SECONDS = 60


@pytest.fixture(scope="module")
def modules() -> str:
    """Where Node finds them; skips where it does not."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no node")
    given = os.environ.get("NODE_PATH")
    if given is None:
        asked = ["npm", "root", "--global"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=SECONDS)
        given = done.stdout.strip()
    if not all((Path(given) / name).is_dir() for name in ("pg", "pg-cursor")):
        pytest.skip("there is no pg for node (npm install -g pg pg-cursor)")
    return given


def test_node(stand_in: StandInListener, modules: str) -> None:
    done = subprocess.run(
        ["node", SCRIPT, str(stand_in.port)],
        env={**os.environ, "NODE_PATH": modules},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"][0] | {"raw": None} == {
        "sensor": "a",
        "n": 1,
        "big": "1099511627776",
        "price": "1.50",
        "share": 0.25,
        "good": True,
        "raw": None,
        "day": "2024-02-29",
        "clock": "12:30:01.5",
        "seen": "2024-02-29T12:00:00.123Z",
        "tags": ["x", None, 'y "z"', ""],
        "counts": {"k": 1},
        "place": {"CITY": "Bergen", "ZIP": 5003},
    }
    assert found["prepared"] == [{"sensor": "a"}, {"sensor": "b"}]
    assert found["binary"] == [[1, True], [None, None]]
    assert found["error"] == ["42703", "8"]
    assert found["cursor"] == [[{"n": 1}, {"n": 2}, {"n": 3}], [{"n": 4}, {"n": 5}]]
    assert {"relname": "readings"} in found["relations"]
    assert found["pool"] == [2] * 6
