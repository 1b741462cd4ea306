"""A history that is lived through while everything is killed again and again, against one catch-up.

Joins, sessions and tables that retract must end as if nothing had happened. The engine's process is
ended by SIGKILL with Spark and its broker, or the broker or Spark alone, at random moments.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from awaiting import await_until
from soak.engine_process import START_SECONDS, EngineProcess
from soak.history import QUERIES, SOURCES, History
from soak.replay import Replay

from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

LATEST_KILL_SECONDS = 8.0
PATIENCE = 400.0


def run(folder: Path, seed: int, *, chapters: int, kills: int) -> None:
    dice = random.Random(seed)
    sql = (SOURCES + QUERIES).replace("$", "")
    engine = EngineProcess(folder, sql.strip().replace(";\n", ";\n\n"))
    engine.start()
    try:
        engine.await_ready()
        kafka = KafkaClient(engine.bootstrap)
        replay = Replay(kafka, History(seed), str, PATIENCE)
        live = replay.readers(str.upper)
        deadly = set(dice.sample(range(chapters), kills))
        for number in range(chapters):
            killer = _Killer(engine, dice) if number in deadly else None
            replay.chapter(live, changes=30, happenings=60)
            if killer is not None:
                killer.join()
        replay.close(live)
        assert engine.stop() == 0
    finally:
        engine.kill()


class _Killer(threading.Thread):
    """Kills once, some seconds from now, while the history continues."""

    def __init__(self, engine: EngineProcess, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self._engine = engine
        self._delay = dice.uniform(0.0, LATEST_KILL_SECONDS)
        self._part = random.Random(dice.random()) if dice.random() < 0.3 else None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            # The moment is to be any: nothing is waited for.
            threading.Event().wait(self._delay)
            if self._part is not None:
                self._engine.kill_part(self._part)
                return
            assert self._engine.kill() >= 1
            self._engine.start()
            self._engine.await_ready()
        except BaseException as error:
            self._error = error

    def join(self, timeout: float | None = START_SECONDS + LATEST_KILL_SECONDS) -> None:
        super().join(timeout)
        await_until(lambda: not self.is_alive(), "the engine to be back", 1.0)
        if self._error is not None:
            raise self._error


@pytest.mark.slow
def test_one_kill(tmp_path: Path) -> None:
    run(tmp_path, 5, chapters=2, kills=1)


@pytest.mark.slow
def test_twelve_kills(tmp_path: Path) -> None:
    run(tmp_path, 12, chapters=20, kills=12)
