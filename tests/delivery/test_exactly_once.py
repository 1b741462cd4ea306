"""Whatever is killed, a reader of committed data sees each row once: see trial.py."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from delivery.broker import EndTxnProxy, KillableBroker, killable_broker
from delivery.load import let_pass
from delivery.reading import committed, problems
from delivery.shapes import SHAPES, value
from delivery.trial import Trial

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

SETTLE_SECONDS = 60.0
"""Of a trial whose rows cannot be awaited, as they are to be wrong."""
LOST_ENDS = 0.2
"""The share of transactions whose end does not pass the proxy as it should."""


@pytest.fixture
def proxy() -> Iterator[EndTxnProxy]:
    proxy = EndTxnProxy(LOST_ENDS, seed=1)
    yield proxy
    proxy.close()


@pytest.fixture
def broker(tmp_path: Path, proxy: EndTxnProxy) -> Iterator[KillableBroker]:
    """A broker that outlives the engines."""
    with killable_broker(tmp_path / "broker", proxy) as broker:
        yield broker


def run(trial: Trial, failures: int, seed: int, apart: tuple[float, float]) -> None:
    """All shapes: nothing lost, nothing doubled, nothing out of order."""
    try:
        trial.run(failures, seed, rate=200.0, apart=apart)
        found = problems(trial.bootstrap, SHAPES)
        assert not found, json.dumps(found, indent=1)
    finally:
        trial.close()


@pytest.mark.parametrize(("mode", "failures"), [("auto", 20), ("microbatch", 10)])
def test_thirty_failures(
    tmp_path: Path, broker: KillableBroker, proxy: EndTxnProxy, mode: str, failures: int
) -> None:
    trial = Trial(tmp_path, broker, proxy, SHAPES, mode=mode)
    run(trial, failures, seed=1, apart=(0.5, 3.0))
    assert proxy.failed, f"{proxy.seen} transactions ended"


@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("mode", ["auto", "microbatch"])
def test_many_failures(
    tmp_path: Path, broker: KillableBroker, proxy: EndTxnProxy, mode: str, seed: int
) -> None:
    trial = Trial(tmp_path, broker, proxy, SHAPES, mode=mode)
    run(trial, failures=50, seed=seed, apart=(2.0, 8.0))


@pytest.mark.parametrize("mode", ["auto", "microbatch"])
def test_pauses_longer_than_time_outs(
    tmp_path: Path, broker: KillableBroker, proxy: EndTxnProxy, mode: str
) -> None:
    trial = Trial(tmp_path, broker, proxy, SHAPES, mode=mode)
    trial.faults = [trial.stop_spark_for_long]
    run(trial, failures=4, seed=1, apart=(2.0, 8.0))


def doubled(trial: Trial, failures: int) -> int:
    """How many rows of the projection are there more than once."""
    try:
        trial.run(failures, seed=1, rate=200.0, apart=(2.0, 8.0))
        let_pass(SETTLE_SECONDS)
        ids = Counter(value(row)["ID"] for row in committed(trial.bootstrap)["PICKED"])
        return sum(count > 1 for count in ids.values())
    finally:
        trial.close()


def test_rows_are_doubled_without_it(
    tmp_path: Path, broker: KillableBroker, proxy: EndTxnProxy
) -> None:
    """What the trial looks for, it finds: a restart repeats rows of a delivery at least once."""
    trial = Trial(tmp_path, broker, proxy, SHAPES, guarantee="at_least_once")
    assert doubled(trial, failures=10)


def test_rows_of_sparks_own_sink_are_doubled(
    tmp_path: Path, broker: KillableBroker, proxy: EndTxnProxy
) -> None:
    trial = Trial(tmp_path, broker, proxy, (), child="delivery.spark_child")
    found = doubled(trial, failures=20)
    print(f"{found} rows doubled")
    assert found
