"""A statement that is killed half-way has happened as a whole or not at all, and what it has
dropped can be made again by the same names and ids. `tests/runtime/test_reconcile.py` kills at
every moment, without Kafka and Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from delivery.statements import Killed

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    """A broker that outlives the engines."""
    broker = EmbeddedBroker(DataDir(tmp_path / "broker"))
    try:
        yield broker.start()
    finally:
        broker.stop()


def run(folder: Path, bootstrap: str, kills: int, seed: int) -> Counter[str]:
    """So many kills; what has happened, and how often."""
    dice = random.Random(seed)
    engine = Killed(folder, bootstrap)
    try:
        return Counter(engine.round(dice) for _ in range(kills))
    finally:
        engine.kill()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_fifty_statements_killed_half_way(tmp_path: Path, bootstrap: str, seed: int) -> None:
    run(tmp_path, bootstrap, kills=5, seed=seed)
