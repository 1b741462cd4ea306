"""An engine that applies files: `python -m delivery.apply_child FOLDER BOOTSTRAP`.

Says `ready`, then applies the file that each line of its input names and says `done`; lives until
it is ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamsql.engine import Engine, EngineConfig
from streamsql.run_script import NamedText


def main(folder: str, bootstrap: str) -> None:
    """Runs until its input ends."""
    with Engine(EngineConfig(data_dir=Path(folder), bootstrap_servers=bootstrap)) as engine:
        engine.wait_until_ready()
        print("ready", flush=True)
        for line in sys.stdin:
            path = Path(line.strip())
            engine.changes.apply([NamedText(path.name, path.read_text("utf-8"))])
            print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
