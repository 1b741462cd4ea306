"""Whatever is killed, a reader of committed data sees each row once: see trial.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from delivery.shapes import SHAPES
from delivery.trial import Trial

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


def run(folder: Path, bootstrap: str, failures: int, seed: int, mode: str = "auto") -> None:
    """A trial of all shapes: nothing lost, nothing doubled, nothing out of order."""
    trial = Trial(folder, bootstrap, SHAPES, mode=mode)
    try:
        trial.run(failures, seed, rate=200.0, apart=(2.0, 8.0))
        found = trial.problems()
        assert not found, json.dumps(found, indent=1)
    finally:
        trial.close()


def test_a_few_failures(tmp_path: Path, bootstrap: str) -> None:
    run(tmp_path, bootstrap, failures=6, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("mode", ["auto", "microbatch"])
def test_many_failures(tmp_path: Path, bootstrap: str, mode: str, seed: int) -> None:
    run(tmp_path, bootstrap, failures=50, seed=seed, mode=mode)
