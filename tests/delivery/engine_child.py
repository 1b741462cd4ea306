"""An engine on a broker that outlives it: `python -m delivery.engine_child FOLDER BOOTSTRAP SQL`.

Creates what SQL says once, says `ready` and lives until it is ended. SIGUSR1 has it
say what its threads are at.
"""

from __future__ import annotations

import faulthandler
import logging
import signal
import sys
import threading
from pathlib import Path

from streamsql.engine import Engine, EngineConfig, Session


def main(folder: str, bootstrap: str, script: str) -> None:
    """Runs until SIGTERM."""
    ended = threading.Event()
    handler = logging.StreamHandler()
    text = "%(asctime)s %(query_id)s %(message)s"
    handler.setFormatter(logging.Formatter(text, defaults={"query_id": ""}))
    log = logging.getLogger("streamsql")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Engine(EngineConfig(data_dir=Path(folder), bootstrap_servers=bootstrap)) as engine:
        engine.wait_until_ready()
        if not engine.catalog().queries:
            list(engine.execute(Path(script).read_text("utf-8"), Session()))
        print("ready", flush=True)
        ended.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
