"""A process that is an engine, with its own broker unless it is given one:
`python -m soak.engine_child FOLDER [SQL [BOOTSTRAP]]`.

Runs SQL on a fresh data folder, says `ready HOST:PORT` and lives until it is ended.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from streamsql.engine import Engine, EngineConfig


def main(folder: str, sql: str = "", bootstrap: str | None = None) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    config = EngineConfig(data_dir=Path(folder), bootstrap_servers=bootstrap)
    with Engine(config) as engine:
        engine.wait_until_ready()
        if not engine.catalog().queries:
            for statement in sql.split("\n\n"):
                list(engine.execute(statement))
        kafka = next(step for step in engine.startup().steps if step.name == "kafka")
        print("ready", bootstrap or kafka.detail.split()[-1], flush=True)
        ended.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
