"""Waiting for Kafka and Spark before a statement that needs them is begun.

The engine would wait too, but then the statement could no longer be called off: Ctrl-C here means
that it has not run and will not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from streamsql.cli.terminal.progress import waiting

if TYPE_CHECKING:
    from streamsql.cli.execution.connection import Connection
    from streamsql.session import Session

LOOK_SECONDS = 0.05


def steps_needed(sql: str, session: Session) -> set[str]:
    """Names of the start-up's steps that the statements wait for, up to one that is wrong."""
    from streamsql.api.script import parse_script

    return {step for each in parse_script(sql, session).statements for step in each.waits_for}


def wait_for_start(engine: Connection, sql: str) -> None:
    """Return when what the statements need is up, or has failed (the engine says how then)."""
    needed = steps_needed(sql, engine.session)
    if _there(engine, needed):
        return
    with waiting(engine.startup):
        while not _there(engine, needed):
            time.sleep(LOOK_SECONDS)


def _there(engine: Connection, needed: set[str]) -> bool:
    status = engine.startup()
    if status.error is not None:
        return True
    return all(step.state.value == "done" for step in status.steps if step.name in needed)
