"""A process that is an engine with its own broker: `python -m soak.engine_child FOLDER [SQL]`.

Runs SQL on a fresh data folder, says `ready HOST:PORT` and lives until it is ended.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from streamsql.engine import Engine, EngineConfig


def main(folder: str, sql: str) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Engine(EngineConfig(data_dir=Path(folder))) as engine:
        engine.wait_until_ready()
        if not engine.catalog().queries:
            for statement in sql.split("\n\n"):
                list(engine.execute(statement))
        kafka = next(step for step in engine.startup().steps if step.name == "kafka")
        print("ready", kafka.detail.split()[-1], flush=True)
        ended.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
