"""ksqlDB's third-party clients against this server: PyPI's `ksql` and npm's
`ksqldb-client`. They are installed for these tests alone, into the cache of the test runner.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from server.live import LiveServer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

DRIVERS = Path(__file__).parent / "clients"
KSQL, KSQLDB_CLIENT = "ksql==0.10.2", "ksqldb-client@1.0.5"
INSTALL_SECONDS, DRIVE_SECONDS = 300.0, 300.0


def install(marker: Path, *commands: list[str]) -> None:
    """Run what installs a client, once; skips where that cannot be done here."""
    if marker.exists():
        return
    for command in commands:
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "stderr", None) or b""
            pytest.skip(f"cannot install {marker.name}: {output.decode()[-300:] or error}")
    marker.touch()


@pytest.fixture(scope="module")
def python_client(pytestconfig: pytest.Config) -> Path:
    """A folder with PyPI's client and what it needs, of the versions of its time."""
    folder = pytestconfig.cache.mkdir("ksql-python")
    build, target = folder / "build", folder / "packages"
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    # Its build wants pip's insides, which an isolated build has not.
    tools = [*pip, "--target", str(build), "setuptools<70", "wheel", "pip"]
    package = ["env", f"PYTHONPATH={build}", *pip, "--no-build-isolation", "--target", str(target)]
    install(folder / "installed", tools, [*package, KSQL])
    return target


@pytest.fixture(scope="module")
def node_client(pytestconfig: pytest.Config) -> Path:
    """A folder with npm's client."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    folder = pytestconfig.cache.mkdir("ksqldb-client")
    install(folder / "installed", [npm, "install", "--prefix", str(folder), KSQLDB_CLIENT])
    return folder / "node_modules"


def drive(command: list[str], **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=DRIVE_SECONDS,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_pypis_ksql(server: LiveServer, python_client: Path) -> None:
    suffix = uuid.uuid4().hex[:8].upper()
    command = [sys.executable, "-W", "ignore", str(DRIVERS / "drive_ksql.py"), server.url, suffix]
    found = drive(command, PYTHONPATH=str(python_client))
    assert found["version"] and found["created"] is True
    rows = [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}, {"ID": 3, "NAME": "a"}]
    assert found["inserted"] == [{"status": "ok", "seq": n} for n in range(3)]
    assert found["push"] == rows
    assert found["pull"] == rows
    assert found["http2"].count('"a"') == 2
    assert found["properties"] > 10
    assert found["error"] == 40001
    assert found["closed"] is False


def test_npms_ksqldb_client(server: LiveServer, node_client: Path) -> None:
    suffix, port = uuid.uuid4().hex[:8].upper(), server.url.rpartition(":")[2]
    command = ["node", str(DRIVERS / "drive_ksqldb_client.js"), port, suffix]
    found = drive(command, NODE_PATH=str(node_client))
    rows = [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}]
    assert found["created"]["data"]["rows"][0]["commandStatus"]["status"] == "SUCCESS"
    assert [i.get("error", {}).get("status") for i in found["inserted"]] == [None, None, "error"]
    assert found["pushed"] == rows
    assert (found["ended"], found["closed"]) == (200, 200)
    assert found["pulled"]["data"]["rows"] == rows
    assert found["wrong"]["error"]["error_code"] == 40001
    assert f"JS_{suffix}" in [source["name"] for source in found["streams"]]
    assert [f["name"] for f in found["described"]["fields"]] == ["ID", "NAME"]
