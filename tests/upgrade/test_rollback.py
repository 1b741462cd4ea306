"""The release before meets what this one has written: it reads all that it can do justice to, and
where it cannot it does not start, and changes nothing."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from streamsql.executor.queries.checkpoint import claim
from streamsql.log.entries import Entry, FileLog
from streamsql.version import VERSION

ROOT = Path(__file__).parents[2]
RELEASE = "7d69914bf51cb946f7445b8ced9ffde0ff65391a"
"""The commit of the previous release."""

START = """
import sys
from pathlib import Path
from streamsql.config import EngineConfig
from streamsql.errors import StreamSQLError
from streamsql.runtime.restore import restore
from streamsql.runtime.state import EngineState

state = EngineState(EngineConfig(data_dir=Path(sys.argv[1]), bootstrap_servers="127.0.0.1:1"))
try:
    log = restore(state)
    print("started with", ", ".join(state.catalog.sources))
    log.close()
except StreamSQLError as error:
    print(type(error).__name__, error.message, error.detail, error.hint, sep="|")
state.queries.close()
"""

STREAM = (
    "CREATE STREAM {0} (x INT) WITH (KAFKA_TOPIC = '{0}', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the release before."""
    folder = tmp_path_factory.mktemp("release")
    command = ["git", "-C", str(ROOT), "archive", RELEASE, "streamsql", "cli", "grammar"]
    try:
        sources = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone with the history that the release before is in")
    with tarfile.open(fileobj=io.BytesIO(sources)) as archive:
        archive.extractall(folder)
    return folder


def started(release: Path, folder: Path) -> str:
    """What the release before says when it starts on a data folder."""
    done = subprocess.run(
        [sys.executable, "-c", START, str(folder)],
        cwd=release,
        env={**os.environ, "PYTHONPATH": str(release)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def written(folder: Path, *entries: Entry) -> None:
    """A log as this release writes it, and a checkpoint of a query that it does not know."""
    log = FileLog(folder / "statements.log")
    for entry in entries:
        log.append(entry)
    log.close()
    claim(folder / "checkpoints" / "LATER", 9)


def test_what_says_nothing_new_is_read(release: Path, tmp_path: Path) -> None:
    entries = (Entry(n, STREAM.format(name), version=VERSION) for n, name in enumerate("ab", 1))
    written(tmp_path, *entries)
    assert started(release, tmp_path).endswith("A, B")


def test_what_it_cannot_do_justice_to_is_refused(release: Path, tmp_path: Path) -> None:
    drop = "DROP STREAM a DELETE TOPIC;"
    written(
        tmp_path,
        Entry(1, STREAM.format("a"), version=VERSION),
        Entry(2, drop, version="9.1.0", deletes={"a": "1b-2c"}),
        Entry(3, STREAM.format("b"), version="9.1.0"),
    )
    before = content(tmp_path)
    kind, message, detail, hint = started(release, tmp_path).split("|")
    assert kind == "ConfigError" and "entry 2 of the statement log" in message
    assert "written by streamsql 9.1.0" in message
    assert detail == "This version does not know: deletes."
    assert "Start streamsql 9.1.0 or a later version." in hint
    assert content(tmp_path) == before


def test_a_statement_that_it_cannot_plan_is_refused(release: Path, tmp_path: Path) -> None:
    written(
        tmp_path,
        Entry(1, STREAM.format("a"), version=VERSION),
        Entry(2, "TRANSMOGRIFY STREAM a;", version="9.1.0"),
    )
    before = content(tmp_path)
    kind, message, detail, _ = started(release, tmp_path).split("|")
    assert kind == "InternalError" and "cannot replay entry 2" in message
    assert "It was written by streamsql 9.1.0." in detail
    assert content(tmp_path) == before
