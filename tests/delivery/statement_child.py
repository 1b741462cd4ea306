"""An engine that runs statements: `python -m delivery.statement_child FOLDER BOOTSTRAP`.

Says `ready`, then runs each line of its input and says `done`; lives until it is ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamsql.engine import Engine, EngineConfig, Session


def main(folder: str, bootstrap: str) -> None:
    """Runs until its input ends."""
    with Engine(EngineConfig(data_dir=Path(folder), bootstrap_servers=bootstrap)) as engine:
        engine.wait_until_ready()
        print("ready", flush=True)
        for line in sys.stdin:
            list(engine.execute(line, Session()))
            print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
