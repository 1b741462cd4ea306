"""Records what a release leaves behind when it is killed: `python -m upgrade.record ARCHIVE` in a
checkout of that release, with this folder beside its tests.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
import time
from pathlib import Path

from soak.engine_process import EngineProcess
from upgrade.pipeline import problems, script, write, write_names

from streamsql.kafka.client import KafkaClient

COUNT = 600
KNOWN_SECONDS = 20.0
LEFT_OUT = ("logs", "engine.lock", "broker.lock", "broker.json", "stderr.txt")


def main(archive: str) -> None:
    """Most of the events are through when everything is killed, the last ones under way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "engine"
        folder.mkdir()
        engine = EngineProcess(folder, script())
        engine.start()
        try:
            engine.await_ready()
            kafka = KafkaClient(engine.bootstrap)
            write_names(kafka)
            # In real time a record meets the table as it is when it comes.
            time.sleep(KNOWN_SECONDS)
            write(kafka, 0, COUNT - 100)
            deadline = time.monotonic() + 120
            while found := problems(kafka):
                assert time.monotonic() < deadline, found
                time.sleep(0.5)
            for first in range(COUNT - 100, COUNT, 10):
                write(kafka, first, 10)
                time.sleep(0.03)
        finally:
            engine.kill()
        with tarfile.open(archive, "w:xz") as out:
            for path in sorted(folder.iterdir()):
                if path.name not in LEFT_OUT:
                    out.add(path, path.name, filter=_plain)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without the names of users, and without generated parts."""
    if entry.name in ("kafka/server.properties", "kafka/log4j2.xml"):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main(sys.argv[1])
