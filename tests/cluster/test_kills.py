"""The flights pipeline on a Spark cluster and three brokers, of which everything is killed: each
row once, and tables exact.

STREAMSQL_CLUSTER_KILLS has how many kills of each kind there are, as "executor=2,worker=1";
STREAMSQL_CLUSTER_SEED their order and moments, STREAMSQL_CLUSTER_RATE the flights a second.
`pytest -s` shows the seconds of silence after each.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from awaiting import await_until
from cluster.flights import SINKS, Feed, problems
from cluster.kraft import Brokers, brokers
from cluster.standalone import Standalone, standalone
from cluster.trial import SHARE, Trial
from cluster.watching import Watch
from delivery.load import let_pass
from delivery.reading import FINISH_SECONDS, committed
from stores.s3_server import BUCKET, s3_server

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

KILLS = "executor=2,worker=1,broker=1,driver's JVM=1,driver=1"
SEED = int(os.environ.get("STREAMSQL_CLUSTER_SEED", "1"))
RATE = float(os.environ.get("STREAMSQL_CLUSTER_RATE", "200"))
SETTLE_SECONDS = 240.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with standalone(tmp_path) as found:
        yield found


@pytest.fixture
def kafka_brokers(tmp_path: Path) -> Iterator[Brokers]:
    with brokers(tmp_path) as found:
        yield found


def kinds() -> list[str]:
    """What is killed, in order."""
    told = os.environ.get("STREAMSQL_CLUSTER_KILLS", KILLS)
    counts = (part.split("=") for part in told.split(","))
    found = [kind for kind, count in counts for _ in range(int(count))]
    random.Random(SEED).shuffle(found)
    return found


def test_in_a_folder(tmp_path: Path, cluster: Standalone, kafka_brokers: Brokers) -> None:
    trial = Trial(tmp_path, cluster, kafka_brokers, {}, SEED)
    try:
        trial.start(["server"])
        run(trial, kafka_brokers)
    finally:
        trial.close()


def test_in_an_object_store(tmp_path: Path, cluster: Standalone, kafka_brokers: Brokers) -> None:
    with s3_server(tmp_path / "s3") as s3:
        settings = {**s3.settings, **SHARE}
        trial = Trial(tmp_path, cluster, kafka_brokers, settings, SEED, servers=2)
        try:
            checkpoints = ("--checkpoints", f"s3a://{BUCKET}/flights")
            trial.start(["a", "b"], *checkpoints, "--service-id", "flights")
            run(trial, kafka_brokers)
            found = list(tmp_path.glob("?/data/**/offsets"))
            assert not found, "no checkpoint is on a disk"
        finally:
            trial.close()


def run(trial: Trial, brokers: Brokers) -> None:
    """Kill, have all come to an end, and compare."""
    with Watch(brokers.bootstrap, SINKS) as watch:
        with Feed(brokers.bootstrap, RATE) as feed:
            trial.run(kinds(), feed, watch)
        print(f"{feed.written} flights\n{trial.told()}", flush=True)
        await_until(
            lambda: watch.count("FLIGHTS_IN_CONTEXT") >= feed.written,
            "all flights to be joined",
            SETTLE_SECONDS,
        )
    deadline = time.monotonic() + FINISH_SECONDS
    while found := problems(committed(brokers.bootstrap)):
        assert time.monotonic() < deadline, "\n".join(found)
        let_pass(1.0)
