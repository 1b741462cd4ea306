"""A statement that is killed half-way has happened as a whole or not at all, and what it has
dropped can be made again by the same names and ids. `tests/runtime/test_reconcile.py` kills at
every moment, without Kafka and Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from delivery.statements import DROP, REPLACE, TERMINATE, Killed

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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_statements_killed_half_way(tmp_path: Path, bootstrap: str, seed: int) -> None:
    """Of all seeds together, fifty times DROP, and ten times each of the others."""
    statements = [*[DROP] * 5, TERMINATE, REPLACE]
    dice = random.Random(seed)
    dice.shuffle(statements)
    engine = Killed(tmp_path, bootstrap)
    try:
        print(Counter(engine.round(sql, dice) for sql in statements))
    finally:
        engine.kill()
